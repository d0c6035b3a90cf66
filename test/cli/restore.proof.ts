import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { courtd, temporaryFolder } from '../harness/daemon.ts';
import { withoutRoot } from '../harness/needs.ts';
import { openProgram } from '../harness/openProgram.ts';
import { stoppedBox } from '../harness/scratchStore.ts';
import { SmallDisk, withoutMount } from '../harness/smallDisk.ts';

openProgram();

t.test(
  'what root restores can be opened by the owner of the data directory',
  { skip: withoutRoot },
  async (t) => {
    const box = stoppedBox(t);
    const file = path.join(temporaryFolder(t), 'backup.db');
    await box.command('backup', file);
    const data = temporaryFolder(t);
    fs.chownSync(data, 1234, 2345);
    await courtd(['restore', file, '--data', data]);
    await courtd(['session', 'list', '--data', data]);
    await courtd(['restore', file, '--data', data]);
    const names = fs.readdirSync(data);
    for (const name of names) t.match(fs.statSync(path.join(data, name)), { uid: 1234, gid: 2345 }, name);
    t.equal(names.length, 3, 'database, lock and the replaced one');
  },
);

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
    t.match(stderr, /^courtd: The disk of \/[^\n]+ is full: free some space and try again\.\n$/);
    disk.makeRoom();
    t.strictSame(await state(), before);
  },
);
