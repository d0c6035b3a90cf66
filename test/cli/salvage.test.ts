import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { BIN, courtd, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { damagePages, leavesOf } from '../harness/damage.ts';
import { events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import {
  Committer,
  countAndClose,
  court,
  type StoppedBox,
  scratch,
  stoppedBox,
} from '../harness/scratchStore.ts';

runInProcess();

/** What a restore drops, and how it comes back. */

const PAGE_BYTES = 4096;
/** In a page that is not the first: https://www.sqlite.org/fileformat2.html#b_tree_pages */
const CELL_COUNT_AT = 3;
const [IN_BACKUP, AFTER_IT] = [20, 900];

/** A box with a backup, and events that came after it. */
async function box(t: Test): Promise<StoppedBox & { backup: string; ids: () => Promise<string[]> }> {
  const stopped = stoppedBox(t, IN_BACKUP);
  const backup = path.join(temporaryFolder(t), 'backup.db');
  t.equal((await stopped.command('backup', backup)).status, 0);
  const { db } = scratch(t, stopped.data);
  const committer = new Committer(db);
  const later = Array.from({ length: AFTER_IT / 100 }, () => events(100, { session_id: 'later' }));
  for (const batch of later) committer.append(...court(...batch));
  countAndClose(db);
  const ids = async () => {
    const { stdout } = await stopped.command('tail', '--json', '--after', '0');
    const lines = stdout.split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line).event.event_id as string).sort();
  };
  return { ...stopped, backup, ids };
}

t.test('--salvage brings back what came after the backup, and counts it', async (t) => {
  const { command, backup, ids } = await box(t);
  const all = await ids();
  const { status, stdout, stderr } = await command('restore', backup, '--salvage');
  t.strictSame([status, stdout], [0, '']);
  t.match(
    stderr,
    /^Restored .*: 20 events of 1 session.*\n.*\nSalvaged from the replaced database: 900 events that the backup does not have: 900 accepted, 0 duplicates\.\nThe replaced/,
  );
  t.strictSame(await ids(), all);
  t.match((await command('check', '--full')).stdout, /ok {4}database: Every page/);
});

t.test('of a damaged database every event comes back that does not lie on a damaged page', async (t) => {
  const { data, command, backup, ids } = await box(t);
  const all = await ids();
  const leaves = leavesOf(data, 'event');
  const pages = [leaves.at(5)!, leaves.at(6)!, leaves.at(-1)!];
  const copy = new Database(path.join(data, 'courtd.db'), { readonly: true });
  const total = copy.prepare<[], number>('SELECT count(*) FROM event').pluck().get()!;
  const cells = copy
    .prepare<[string], number>(
      "SELECT ncell FROM dbstat WHERE name = 'event' AND pageno IN (SELECT value FROM json_each(?))",
    )
    .pluck()
    .all(JSON.stringify(pages))
    .reduce((sum, count) => sum + count, 0);
  copy.close();
  t.equal(total, IN_BACKUP + AFTER_IT);
  damagePages(data, 'event', () => pages);
  const { status, stdout } = await command('restore', backup, '--salvage', '--json');
  t.equal(status, 0);
  t.match(JSON.parse(stdout), {
    events: IN_BACKUP,
    salvaged: {
      events: AFTER_IT - cells,
      accepted: AFTER_IT - cells,
      duplicates: 0,
      conflicts: 0,
      unreadable: cells,
    },
  });
  const back = await ids();
  t.equal(back.length, all.length - cells);
  t.strictSame(
    back.filter((id) => !all.includes(id)),
    [],
  );
});

t.test('an event that a page has lost without a trace is counted', async (t) => {
  const { data, command, backup, ids } = await box(t);
  const all = await ids();
  const leaves = leavesOf(data, 'event');
  const fd = fs.openSync(path.join(data, 'courtd.db'), 'r+');
  for (const page of [leaves.at(5)!, leaves.at(-1)!]) {
    const cells = Buffer.alloc(2);
    const at = (page - 1) * PAGE_BYTES + CELL_COUNT_AT;
    fs.readSync(fd, cells, 0, 2, at);
    cells.writeUInt16BE(cells.readUInt16BE() - 2);
    fs.writeSync(fd, cells, 0, 2, at);
  }
  fs.closeSync(fd);
  const { stdout } = await command('restore', backup, '--salvage', '--json');
  t.match(JSON.parse(stdout), { salvaged: { events: AFTER_IT - 4, unreadable: 4 } });
  t.equal((await ids()).length, all.length - 4);
});

t.test('where nothing can be read, that is said, and the backup is restored', async (t) => {
  const { data, command, backup, ids } = await box(t);
  const file = path.join(data, 'courtd.db');
  fs.writeFileSync(file, fs.readFileSync(file).fill(0xa5));
  const { status, stderr } = await command('restore', backup, '--salvage');
  t.equal(status, 0);
  t.match(stderr, /\nNothing can be read in the replaced database, so nothing was salvaged\.\n/);
  t.equal((await ids()).length, IN_BACKUP);
});

t.test('without it, the commands that are printed do the same', async (t) => {
  const { data, command, backup, ids } = await box(t);
  const all = await ids();
  const { stderr } = await command('restore', backup);
  t.match(
    stderr,
    /holds events that this backup does not have\. "--salvage" would have imported them; by hand:\n/,
  );
  const lines = stderr.split('\n').filter((line) => line.startsWith('  '));
  t.ok(lines.length >= 3);
  t.equal((await ids()).length, IN_BACKUP);
  const bin = temporaryFolder(t);
  fs.symlinkSync(BIN, path.join(bin, 'courtd'));
  // As root there may be no sudo here, and none is needed.
  fs.writeFileSync(path.join(bin, 'sudo'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  const start = lines.findIndex((line) => line.endsWith('systemctl start courtd'));
  const before = await run('sh', ['-ec', lines.slice(0, start).join('\n')], { env });
  t.equal(before.status, 0, before.stderr);
  await Daemon.run(t, data, '');
  const done = await run('sh', ['-ec', lines.slice(start + 1).join('\n')], { env });
  t.equal(done.status, 0, done.stderr);
  t.strictSame(await ids(), all);
  t.ok(fs.existsSync(path.join(data, 'salvage')));
});

t.test('where the backup has everything, nothing is advised, and --salvage has nothing to do', async (t) => {
  const { data, command } = stoppedBox(t, IN_BACKUP);
  const backup = path.join(temporaryFolder(t), 'backup.db');
  await command('backup', backup);
  t.notMatch((await command('restore', backup)).stderr, /salvage/);
  const { stdout } = await command('restore', backup, '--salvage', '--json');
  t.match(JSON.parse(stdout), { salvaged: { events: 0, accepted: 0, unreadable: 0 } });
  const elsewhere = path.join(temporaryFolder(t), 'data');
  const fresh = await courtd(['restore', backup, '--salvage', '--json', '--data', elsewhere]);
  t.match(JSON.parse(fresh.stdout), { replaced_kept_as: null, salvaged: null });
  t.strictSame(
    fs.readdirSync(data).filter((name) => name.endsWith('-shm')),
    [],
    'nothing is left beside them',
  );
});
