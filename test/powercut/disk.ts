import { execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { unmountFrom, type Workshop } from '../harness/workshop.ts';
import { WriteLog } from './write-log.ts';

const LOG_BYTES = 8 * 1024 ** 3;
const START_MS = 10_000;

/** Makes the image of an empty ext4 whose journal is small, so that it comes round. @returns its file. */
export function makeImage(workshop: Workshop, mebibytes: number): string {
  const image = workshop.empty('disk', mebibytes * 1024 ** 2);
  const eager = 'lazy_itable_init=0,lazy_journal_init=0';
  execFileSync('mkfs.ext4', ['-q', '-F', '-J', 'size=4', '-E', eager, image], { stdio: 'pipe' });
  return image;
}

/**
 * A real ext4 on a disk that keeps a log of every write and flush: ext4 on a loop device on a file in FUSE, which
 * `qemu-storage-daemon` serves and logs.
 */
export class RecordedDisk {
  readonly folder: string;
  readonly log: WriteLog;
  /** Unmounts it and ends the recording; the log stays. */
  readonly stop: () => void;

  private constructor(folder: string, log: WriteLog, stop: () => void) {
    this.folder = folder;
    this.log = log;
    this.stop = stop;
  }

  /** Mounts an image. What is written from now on is in the log, and in the image. */
  static async start(workshop: Workshop, image: string): Promise<RecordedDisk> {
    const log = workshop.empty('log', LOG_BYTES);
    const exported = workshop.empty('export', 0);
    const qemu = spawn(
      'qemu-storage-daemon',
      [
        ...['--blockdev', `driver=file,node-name=disk,filename=${image}`],
        ...['--blockdev', `driver=file,node-name=log,filename=${log}`],
        ...['--blockdev', 'driver=blklogwrites,node-name=both,file=disk,log=log,log-sector-size=512'],
        ...['--export', `type=fuse,id=export,node-name=both,mountpoint=${exported},writable=on`],
      ],
      // In a process group of its own: Ctrl-C must not take the disk away from under its file system.
      { stdio: ['ignore', 'ignore', 'inherit'], detached: true },
    );
    const stopQemu = workshop.onEnd(() => {
      qemu.kill('SIGKILL');
      // It may be killed while it is only about to make it.
      spawnSync('sleep', ['0.05']);
      if (isExported(exported)) unmountFrom(exported);
    });
    await untilExported(exported);
    const device = execFileSync('losetup', ['-f', '--show', exported], { encoding: 'utf8' }).trim();
    const detach = workshop.onEnd(() => execFileSync('losetup', ['-d', device]));
    const { folder, unmount } = workshop.mount(device, 'recorded');
    const stop = () => {
      unmount();
      detach();
      stopQemu();
    };
    return new RecordedDisk(folder, new WriteLog(log), stop);
  }
}

async function untilExported(file: string): Promise<void> {
  const giveUpAt = performance.now() + START_MS;
  while (!isExported(file)) {
    if (performance.now() > giveUpAt) throw new Error('qemu-storage-daemon does not export the disk.');
    await sleep(20);
  }
}

function isExported(file: string): boolean {
  return fs.readFileSync('/proc/mounts', 'utf8').includes(` ${file} `);
}
