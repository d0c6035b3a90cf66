import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import { Cameras, storedIds } from '../harness/cameras.ts';
import { BIN, Daemon, run } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { Fault, READ, SYNC, straceArguments, WRITE, withoutStrace } from '../harness/strace.ts';

/** What the checks need of tap's `t`. */
type Test = Pick<typeof t, 'equal' | 'match' | 'ok' | 'teardown'>;

const skip = { skip: withoutStrace };

const FAILED =
  /^the disk failed to read or write, so nothing can be guaranteed any more: check the disk, and start courtd again$/;

/** @returns the status of an answer with the code of its problem, or that there was none. */
async function outcome(daemon: Daemon, batch: readonly WireEvent[]): Promise<string> {
  try {
    const answer = await daemon.post(batch);
    const { code } = (await answer.json()) as { code?: string };
    return `${answer.status} ${code} ${answer.headers.get('retry-after')}`;
  } catch {
    return 'no answer';
  }
}

/** Checks the end that an I/O error must have, and that all is well with the next start. */
async function checkEnd(t: Test, daemon: Daemon, code: RegExp, msg = FAILED): Promise<Daemon> {
  t.equal(await daemon.exited, 1);
  const fatal = daemon.log.filter(({ level }) => level === 'fatal');
  t.match(fatal, [{ msg, code }], 'said once');
  const log = fs.statSync(path.join(daemon.data, 'courtd.db-wal'), { throwIfNoEntry: false });
  t.ok((log?.size ?? 0) > 0, 'the database was not closed: the log is still there');
  return Daemon.run(t, daemon.data, daemon.token);
}

const ERRORS = [
  ['fsync', SYNC, /^SQLITE_IOERR_FSYNC$/],
  ['write', WRITE, /^SQLITE_IOERR_WRITE$/],
] as const;

for (const [name, calls, code] of ERRORS) {
  t.test(`after a ${name} error there is no 202, and the next start continues`, skip, async (t) => {
    const daemon = await Daemon.start(t);
    const before = events(300);
    t.equal((await daemon.post(before)).status, 202);
    await Fault.begin(t, daemon, { calls, effect: 'error=EIO', file: 'courtd.db-wal' });
    const during = [events(1), before.slice(0, 1), events(200), events(7)];
    const answers = await Promise.all(during.map((batch) => outcome(daemon, batch)));
    for (const answer of answers) t.match(answer, /^(503 storage_failed 5|no answer)$/);
    t.ok(answers.includes('503 storage_failed 5'), 'a waiting request is answered');
    const again = await checkEnd(t, daemon, code);
    for (const batch of during) t.match(await outcome(again, batch), /^202/, 'sent again');
    const ids = [...before, ...during.flat()].map(({ event_id }) => event_id);
    t.strictSame(await storedIds(again), [...new Set(ids)].sort());
  });

  t.test(`a ${name} error in a checkpoint ends the daemon, and nothing is lost`, skip, async (t) => {
    const daemon = await Daemon.start(t, ['--rate-limit', '0']);
    const cameras = new Cameras(t, daemon, { batch: 250 });
    await cameras.more(1_000);
    await Fault.begin(t, daemon, { calls, effect: 'error=EIO', file: 'courtd.db' });
    const again = await checkEnd(t, daemon, code);
    cameras.follow(again);
    await cameras.more(1_000);
    await cameras.stop();
    t.strictSame(await storedIds(again), cameras.acknowledged.sort());
  });
}

t.test('a read error of the tokens ends the daemon, and answers no 401', skip, async (t) => {
  const daemon = await Daemon.start(t);
  const sent = events(3);
  t.equal((await daemon.post(sent)).status, 202);
  await Fault.begin(t, daemon, { calls: READ, effect: 'error=EIO', file: 'courtd.db-wal' });
  t.equal((await daemon.command('token', 'rotate')).status, 0, 'the daemon must read them again');
  const answers = await Promise.all([events(1), events(2)].map((batch) => outcome(daemon, batch)));
  for (const answer of answers) t.match(answer, /^(503 storage_failed 5|no answer)$/);
  t.ok(answers.includes('503 storage_failed 5'), 'a waiting request is answered');
  // SQLite may call what it could not read malformed.
  const failed = /^the disk failed to read|^the database is damaged, or the disk failed, /;
  const again = await checkEnd(t, daemon, /^SQLITE_(IOERR_READ|CORRUPT)$/, failed);
  t.strictSame(await storedIds(again), sent.map(({ event_id }) => event_id).sort());
});

t.test('a start on a failing disk exits 1, and the next start continues', skip, async (t) => {
  const daemon = await Daemon.start(t);
  const sent = events(50);
  t.equal((await daemon.post(sent)).status, 202);
  await daemon.stop('SIGKILL');
  const faults = straceArguments(daemon.data, { calls: SYNC, effect: 'error=EIO' });
  const serve = [BIN, 'serve', '--port', '0', '--data', daemon.data];
  const started = ['-qq', '-o', '/dev/null', ...faults, ...serve];
  const { status, stdout, stderr } = await run('strace', started, { timeout: 120_000 });
  t.strictSame({ status, stdout }, { status: 1, stdout: '' });
  t.match(stderr, /^courtd: The disk of \S+ failed [^\n]+\(\w+\)[^\n]+\n$/);
  const again = await Daemon.run(t, daemon.data, daemon.token);
  t.strictSame(await storedIds(again), sent.map(({ event_id }) => event_id).sort());
});
