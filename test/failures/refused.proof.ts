import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t from 'tap';
import { PAGE_BYTES } from '../../src/store/db/schema.ts';
import { storedIds } from '../harness/cameras.ts';
import { BIN, type Cleanup, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';

/** Starts that fail: they print what happened and what to do, exit with status 1, and change nothing. */

type Test = Cleanup & Pick<typeof t, 'match' | 'strictSame'>;

/** Every file but the shared memory, which each start makes again: its owner, mode and content. */
function snapshot(folder: string): string[] {
  const names = fs.readdirSync(folder).filter((name) => !name.endsWith('-shm') && name !== 'control.sock');
  return ['.', ...names].sort().map((name) => {
    const file = path.join(folder, name);
    const { mode, uid, gid } = fs.lstatSync(file);
    const content = name === '.' ? '' : fs.readFileSync(file);
    return `${name} ${mode.toString(8)} ${uid}:${gid} ${createHash('sha256').update(content).digest('hex')}`;
  });
}

async function checkRefused(t: Test, data: string, sentence: RegExp, what: string) {
  const before = snapshot(data);
  const serve = ['serve', '--host', '127.0.0.1', '--port', '0', '--data', data];
  const { status, stdout, stderr } = await run(BIN, serve, { timeout: 120_000 });
  t.strictSame({ status, stdout }, { status: 1, stdout: '' }, what);
  t.match(stderr, /^courtd: [^\n]+\n$/, what);
  t.match(stderr, sentence, what);
  t.strictSame(snapshot(data), before, `${what}: nothing is changed`);
}

/** @returns a data directory with events, some of them only in the log that a killed daemon left. */
async function killed(t: Test): Promise<{ data: string; daemon: Daemon; ids: string[] }> {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const sent = Array.from({ length: 8 }, () => events(500));
  for (const batch of sent.slice(0, 6)) await daemon.post(batch);
  await daemon.stop();
  const again = await Daemon.run(t, daemon.data, daemon.token);
  for (const batch of sent.slice(6)) await again.post(batch);
  await again.stop('SIGKILL');
  return { data: daemon.data, daemon, ids: sent.flat().map(({ event_id }) => event_id) };
}

/** @returns the pages of a table or an index, by their number. */
function pagesOf(file: string, name: string): number[] {
  const db = new Database(file, { readonly: true });
  const pages = db
    .prepare<[string], number>('SELECT pageno FROM dbstat WHERE name = ? ORDER BY pageno')
    .pluck();
  const found = pages.all(name);
  db.close();
  return found;
}

t.test('a start does not change a damaged database, not even with its WAL', async (t) => {
  const { data, daemon, ids } = await killed(t);
  const file = path.join(data, 'courtd.db');
  // Of a copy, because looking needs the shared memory.
  const copy = path.join(temporaryFolder(t), 'copy.db');
  fs.copyFileSync(file, copy);
  const sound = fs.readFileSync(file);
  const last = (pages: number[]) => pages.at(-1) ?? 0;
  // None of these pages is in the WAL, which would repair it.
  const damages: [string, number][] = [
    ['sessions', last(pagesOf(copy, 'sqlite_autoindex_session_1'))],
    ['names', last(pagesOf(copy, 'sqlite_autoindex_origin_1'))],
    ['a page of events in the middle', pagesOf(copy, 'event')[40] ?? 0],
  ];
  for (const [what, page] of damages) {
    const damaged = Buffer.from(sound);
    damaged.fill(0xa5, (page - 1) * PAGE_BYTES, page * PAGE_BYTES);
    fs.writeFileSync(file, damaged);
    const sentence =
      /The database in \S+ is damaged\. Nothing was changed\. Keep a copy of it, and restore a backup:/;
    await checkRefused(t, data, sentence, what);
  }
  fs.writeFileSync(file, sound);
  const again = await Daemon.run(t, data, daemon.token);
  t.strictSame(await storedIds(again), ids.sort(), 'with the file as it was all is there');
});
