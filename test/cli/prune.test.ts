import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { otherConnection } from '../harness/scratchStore.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** What is deleted with the events: prune.proof.ts has the events themselves. */

const DAY_MS = 86_400_000;
const YEAR_AGO = '20251101T120000Z';

/** @returns a box with an old and a young one of everything, and a conflict of a position that is old too. */
async function boxWithOldRecords(t: Test): Promise<Daemon> {
  const daemon = await Daemon.start(t);
  const [old, young, position] = [event(), event(), event({ type: 'PLAYER_POSITION' })];
  for (const one of [old, young, position]) {
    await daemon.post(one);
    await daemon.post({ ...one, confidence: 0.25 });
  }
  for (const body of ['[', '{']) await daemon.post(body);
  t.equal(await daemon.stop(), 0);
  const db = otherConnection(t, daemon.data);
  const ms = 100 * DAY_MS;
  db.exec(
    `UPDATE conflict SET last_ms = last_ms - ${ms} WHERE seq <> (SELECT seq FROM conflict_copy WHERE turn = 2)`,
  );
  db.close();
  const recent = new Date(Date.now() - DAY_MS).toISOString().replace(/[-:]|\.\d+/g, '');
  for (const name of [`replaced-${YEAR_AGO}`, `replaced-${YEAR_AGO}-wal`, `replaced-${recent}`, 'layout-1'])
    fs.writeFileSync(path.join(daemon.data, `courtd.db.${name}`), 'x'.repeat(100));
  // A link that leads to itself is an error to follow.
  fs.symlinkSync('courtd.db.replaced-loop', path.join(daemon.data, 'courtd.db.replaced-loop'));
  const written = (Date.now() - ms) / 1_000;
  fs.utimesSync(path.join(daemon.data, 'courtd.db.layout-1'), written, written);
  // Written long ago, and replaced yesterday.
  fs.utimesSync(path.join(daemon.data, `courtd.db.replaced-${recent}`), written, written);
  const box = await Daemon.run(t, daemon.data, daemon.token);
  // A start deletes what is 30 days old.
  const refused = new Database(path.join(daemon.data, 'refused.db'));
  refused.exec(`UPDATE rejection SET at_ms = at_ms - ${ms} WHERE seq = 1`);
  refused.close();
  return box;
}

function previous({ data }: Daemon): string[] {
  return fs.readdirSync(data).filter((name) => /^courtd\.db\.(replaced|layout)-\d/.test(name));
}

t.test('conflict copies, rejections and old databases go at the age of the events', async (t) => {
  const box = await boxWithOldRecords(t);
  const others = async () => {
    const conflicts = JSON.parse((await box.command('conflicts', '--json')).stdout).length;
    const rejections = JSON.parse((await box.command('rejections', '--json')).stdout).length;
    return { conflicts, rejections, databases: previous(box).length };
  };
  const all = { conflicts: 3, rejections: 2, databases: 4 };
  t.strictSame(await others(), all);
  const prune = (...more: string[]) => box.command('prune', '--older-than', '90d', ...more);
  t.match(await prune('--dry-run'), {
    stderr: /^0 events .* would be deleted\. So would 2 conflict copies, 1 rejection, 2 old databases\.\n$/,
  });
  t.strictSame(await others(), all, 'a dry run deletes nothing');
  // What holds events of every type has no age of one of them.
  t.match(await prune('--type', 'PLAYER_POSITION'), { status: 0 });
  t.strictSame(await others(), all);
  t.match(await prune(), {
    status: 0,
    stderr: / 0 events .* 2 conflict copies, 1 rejection, 2 old databases/,
  });
  t.strictSame(await others(), { conflicts: 1, rejections: 1, databases: 1 });
  t.equal((await box.exported('session-1')).length, 3);
  t.match(await prune(), { status: 0, stderr: /^Deleted 0 events [^\n]*\.\n$/ });
});
