import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import t from 'tap';
import { type Cleanup, Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { Fault, SYNC, withoutStrace } from '../harness/strace.ts';

const MIB = 1024 ** 2;
/** How long an fsync of the file takes, that of the log not. */
const SLOW_MS = 3_000;
/** The log is cut back to this. */
const KEPT_BYTES = 64 * MIB;

type Asserts = Pick<typeof t, 'ok' | 'strictSame' | 'teardown'>;

/** Another program that holds a read transaction until it is ended. */
function startReading(t: Cleanup, directory: string): () => void {
  const db = new Database(path.join(directory, 'courtd.db'), { readonly: true });
  t.teardown(() => db.close());
  db.exec('BEGIN; SELECT * FROM session');
  return () => void db.close();
}

function logBytes(directory: string): number {
  return fs.statSync(path.join(directory, 'courtd.db-wal')).size;
}

/** Makes the log grow to this size with large events. */
async function fillLog(daemon: Daemon, bytes: number): Promise<void> {
  const note = 'x'.repeat(6.9 * MIB);
  while (logBytes(daemon.data) < bytes) {
    const { status } = await daemon.post(event({ session_id: 'large', note }));
    if (status !== 202) throw new Error(`${status}`);
  }
}

t.test('a WAL that a long reader holds is reported above 256 MB, then truncated', async (t) => {
  const daemon = await Daemon.start(t, ['--rate-limit', '0']);
  t.equal((await daemon.post(events(1))).status, 202);
  const stopReading = startReading(t, daemon.data);
  await fillLog(daemon, 240 * MIB);
  t.notMatch((await daemon.command('status', '--json')).stdout, 'log_held');
  await fillLog(daemon, 280 * MIB);
  t.match((await daemon.command('status', '--json')).stdout, 'log_held');
  if (withoutStrace === false) await checkGoesOn(t, daemon, stopReading);
  else stopReading();
  // Not one more event.
  while (logBytes(daemon.data) > KEPT_BYTES) await sleep(100);
  t.notMatch((await daemon.command('status', '--json')).stdout, 'log_held');
  t.equal((await daemon.post(events(1))).status, 202);
  t.equal(await daemon.stop(), 0);
  t.equal(fs.existsSync(path.join(daemon.data, 'courtd.db-wal')), false, 'all of it is in the file');
});

/** Checks that a large log is written to the file while requests are answered, however long that takes. */
async function checkGoesOn(t: Asserts, daemon: Daemon, stopReading: () => void): Promise<void> {
  const effect = `delay_enter=${SLOW_MS * 1000}`;
  const fault = await Fault.begin(t, daemon, { calls: SYNC, effect, file: 'courtd.db' });
  stopReading();
  const startedAt = performance.now();
  let answers = 0;
  const statuses = new Set<number>();
  while (fault.calls === 0) {
    statuses.add((await daemon.post(events(1))).status);
    // By then the first request after the reader had begun it. What is left in the end is short, and done in between.
    if (performance.now() - startedAt > SLOW_MS / 3 && fault.calls === 0) answers++;
    await sleep(5);
  }
  await fault.end();
  t.strictSame([...statuses], [202]);
  t.ok(answers > 1, `${answers} answers while the disk was slow`);
}
