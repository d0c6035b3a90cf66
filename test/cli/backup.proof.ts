import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { BIN, run, start, temporaryFolder } from '../harness/daemon.ts';
import { withoutRoot } from '../harness/needs.ts';
import { stoppedBox } from '../harness/scratchStore.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';
import { detach, withoutStrace } from '../harness/strace.ts';
import { endsInTheMiddle } from './endsInTheMiddle.ts';

t.test(
  'a backup that root makes belongs to whom its directory belongs to',
  { skip: withoutRoot },
  async (t) => {
    const box = stoppedBox(t);
    const folder = temporaryFolder(t);
    fs.chownSync(folder, 1234, 2345);
    await box.command('backup', folder);
    const [name] = fs.readdirSync(folder);
    t.match(fs.statSync(path.join(folder, name!)), { uid: 1234, gid: 2345 });
  },
);

t.test(
  'a backup that is made while a longer one is on its way is not removed by that',
  { skip: withoutStrace },
  async (t) => {
    const box = stoppedBox(t);
    const folder = temporaryFolder(t);
    const old = path.join(folder, 'courtd-20200101T000000Z.db');
    fs.writeFileSync(old, '');
    const args = ['backup', folder, '--keep', '2', '--json', '--data', box.data];
    const calls = '?rename,?renameat,?renameat2';
    // It waits before it gives its file the name, until it is told to go on: strace is not in between (-D), and can be ended (-I 2).
    const held = ['-D', '-I', '2', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`];
    const delay = `inject=${calls}:delay_enter=600s`;
    const watcher = fs.watch(folder);
    t.teardown(() => watcher.close());
    const begun = once(watcher, 'change');
    const longer = start('strace', [...held, '-e', delay, BIN, ...args]);
    const longerEnded = Promise.all([text(longer.stdout), once(longer, 'close')]);
    await begun;
    // A backup has the second of its beginning in its name.
    const second = new Date().getSeconds();
    while (new Date().getSeconds() === second) await sleep(10);
    const made = JSON.parse((await box.command(...args.slice(0, -2))).stdout);
    t.strictSame(made.removed, [], 'the longer one was not there yet');
    detach(longer.pid!);
    const [stdout, [status]] = await longerEnded;
    t.equal(status, 0);
    t.strictSame(JSON.parse(stdout).removed, [path.basename(old)]);
    t.ok(fs.existsSync(made.path));
  },
);

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
    t.match(
      stderr,
      /^courtd: The disk of \/[^\n]+ is full: free some space there, or choose another place\.\n$/,
    );
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

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  t.test(`${signal} in the middle: nothing that looks like a backup, and the next one tidies up`, async (t) =>
    endsInTheMiddle(t, stoppedBox(t, 20_000), signal),
  );
}
