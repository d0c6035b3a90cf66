import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import t, { type Test } from 'tap';
import { BIN, courtd, run, start, temporaryFolder } from '../harness/daemon.ts';
import { withoutRoot } from '../harness/needs.ts';
import { type StoppedBox, stoppedBox } from '../harness/scratchStore.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';
import { withoutStrace } from '../harness/strace.ts';

const NAME = /^courtd-\d{8}T\d{6}Z\.db$/;

/**
 * Ends a backup by a signal while it is being written.
 * @returns the directory that it was written to. Where it was done before the signal came, another one is tried.
 */
async function endOne(t: Test, data: string, signal: NodeJS.Signals): Promise<string> {
  for (;;) {
    const folder = temporaryFolder(t);
    const watcher = fs.watch(folder);
    const begun = once(watcher, 'change');
    const child = start(BIN, ['backup', folder, '--data', data]);
    const exit = once(child, 'exit');
    await begun;
    watcher.close();
    child.kill(signal);
    const [status, by] = await exit;
    if (fs.readdirSync(folder).some((name) => NAME.test(name))) continue;
    t.strictSame([status, by], [null, signal]);
    return folder;
  }
}

/** A backup that is ended leaves nothing that looks like one, and the next one removes what it left. */
async function endsInTheMiddle(t: Test, box: StoppedBox, signal: NodeJS.Signals): Promise<void> {
  const folder = await endOne(t, box.data, signal);
  t.equal(fs.readdirSync(folder).length, signal === 'SIGKILL' ? 1 : 0);
  t.equal((await box.command('backup', folder)).status, 0);
  const [backup, ...more] = fs.readdirSync(folder);
  t.match(backup, NAME);
  t.strictSame(more, []);
}

t.test(
  'a full disk: one sentence that names it, older backups stay, nothing else is left',
  { skip: withoutMount },
  async (t) => {
    const box = stoppedBox(t, 10_000);
    const disk = await SmallDisk.mount(t, 4);
    const older = 'courtd-20200102T000000Z.db';
    fs.writeFileSync(path.join(disk.folder, older), '');
    disk.fill(1024 ** 2);
    const { status, stderr } = await box.command('backup', disk.folder, '--keep', '1');
    t.equal(status, 1);
    t.match(stderr, /^courtd: The disk of \/[^\n]+ is full[^\n]+\n$/);
    t.strictSame(fs.readdirSync(disk.folder).sort(), [older, 'filler']);
    disk.makeRoom();
    t.equal((await box.command('backup', disk.folder, '--keep', '1')).status, 0);
    t.notOk(fs.existsSync(path.join(disk.folder, older)));
  },
);

t.test(
  'a USB stick, whose file system has no owners and no modes, takes a backup',
  { skip: withoutRoot || withoutStrace },
  async (t) => {
    const box = stoppedBox(t);
    const stick = temporaryFolder(t);
    // As FAT is mounted with uid=1234: all of it is that user's, whoever writes, and to change that is not permitted.
    fs.chownSync(stick, 1234, 1234);
    const calls = '?chmod,?fchmod,?fchmodat,?fchmodat2,?chown,?fchown,?lchown,?fchownat';
    const fat = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:error=EPERM`];
    const { status, stderr } = await run('strace', [...fat, BIN, 'backup', stick, '--data', box.data]);
    t.match({ status, stderr }, { status: 0, stderr: /^Backup written/ });
    t.equal(fs.readdirSync(stick).length, 1);
  },
);

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
  t.test(`${signal} in the middle: nothing that looks like a backup, and the next one tidies up`, async (t) =>
    endsInTheMiddle(t, stoppedBox(t, 20_000), signal),
  );
}

t.test(
  'a disk without room for a second database: one sentence, and the first one is as it was',
  { skip: withoutMount },
  async (t) => {
    const box = stoppedBox(t, 500, { note: 'x'.repeat(2000) });
    const file = path.join(temporaryFolder(t), 'backup.db');
    await box.command('backup', file);
    const disk = await SmallDisk.mount(t, 8);
    await courtd(['restore', file, '--data', disk.data]);
    const state = async () => [
      fs.readdirSync(disk.data).sort(),
      await courtd(['session', 'list', '--json', '--data', disk.data]),
      // Its standard error says as of when it is.
      (await courtd(['export', 'session-1', '--format', 'ndjson', '--data', disk.data])).stdout,
    ];
    const before = await state();
    disk.fill(512 * 1024);
    const { status, stderr } = await courtd(['restore', file, '--data', disk.data]);
    t.equal(status, 1);
    t.match(stderr, /^courtd: The disk of \/[^\n]+ is full[^\n]+\n$/);
    disk.makeRoom();
    t.strictSame(await state(), before);
  },
);
