import { constants, rmSync } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { fail, ok, warn } from '../../base/finding.ts';
import { MIN_FREE_BYTES, RESERVE_BYTES } from '../../base/limits.ts';
import { parseSize } from '../options/optionParsers.ts';
import { cleanUpOnExit } from '../terminal/signals.ts';
import { bytesFor } from '../terminal/units.ts';
import type { Box } from './box.ts';
import { type Check, type Fault, together } from './check.ts';

const SYNCS = 9;
/** A slow disk is measured with fewer. */
const SYNCS_MS = 3_000;
/** What a page of the log is written with. */
const WRITE_BYTES = 4_096;
/** Disks of a box take 0.1 to 15 ms, tired SD cards 40 and more. */
const SLOW_MS = 40;

export const disk: Check = {
  name: 'disk',
  look: async (box) => {
    const { bavail, bsize } = await fs.statfs(box.data);
    const free = bavail * bsize;
    const room = aboutRoom(box, free);
    if (room?.level === 'fail') return room;
    const ms = await syncTime(box.data);
    const [time, rate] = [ms < 10 ? ms.toFixed(1) : ms.toFixed(0), Math.max(1, Math.round(1000 / ms))];
    const told = `this disk takes ${time} ms a sync: at most about ${rate} commits a second`;
    const speed =
      ms < SLOW_MS
        ? undefined
        : warn(
            `${told[0]!.toUpperCase()}${told.slice(1)}.`,
            'A worn SD card or a slow stick: cameras wait for it. Use an SSD, or have cameras send more events at once.',
          );
    return together([room, speed], ok(`${bytesFor(free)} free; ${told}.`));
  },
};

function aboutRoom({ data, settings }: Box, free: number): Fault {
  if (free < RESERVE_BYTES) {
    return fail(
      `The disk of ${data} is full: ${bytesFor(free)} free.`,
      'Make room: "sudo courtd prune --older-than 90d --dry-run" says what would go, and without --dry-run it goes.',
    );
  }
  const floor = floorOf(settings.COURTD_MIN_FREE);
  if (free >= floor) return undefined;
  return warn(
    `Only ${bytesFor(free)} are free on the disk of ${data}, less than ${bytesFor(floor)} (COURTD_MIN_FREE).`,
    'Make room with "courtd prune", or set COURTD_KEEP or COURTD_KEEP_POSITIONS, before cameras are refused.',
  );
}

/** A wrong one is the configuration's to tell. */
function floorOf(setting: string | undefined): number {
  try {
    return setting === undefined ? MIN_FREE_BYTES : parseSize(setting);
  } catch {
    return MIN_FREE_BYTES;
  }
}

/** @returns the median time of an fsync, in milliseconds. */
async function syncTime(data: string): Promise<number> {
  const file = path.join(data, `.courtd-check.${process.pid}`);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const handle = await fs.open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o660);
  const calledOff = cleanUpOnExit(() => rmSync(file, { force: true }));
  try {
    return await medianSync(handle);
  } finally {
    calledOff();
    await handle.close();
    await fs.rm(file, { force: true });
  }
}

async function medianSync(handle: FileHandle): Promise<number> {
  const times: number[] = [];
  const until = performance.now() + SYNCS_MS;
  while (times.length < SYNCS && (times.length === 0 || performance.now() < until)) {
    await handle.write(Buffer.alloc(WRITE_BYTES, times.length));
    const startedAt = performance.now();
    await handle.datasync();
    times.push(performance.now() - startedAt);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!;
}
