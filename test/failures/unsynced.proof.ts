import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { BIN, courtd, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { Fault, SYNC, withoutStrace } from '../harness/strace.ts';
import { Tail } from '../harness/tail.ts';

/** Longer than the test takes: the daemon is killed in it. */
const SYNC_MS = 600_000;

const TRACED = ['-f', '-y', '-e', 'trace=listen,fsync,fdatasync,write,writev,pwrite64', '-o'];

/** Stores an event, and kills the daemon when another one is in the log that has not been synced. */
async function leaveUnsynced(t: Test, whileHeld = async (_daemon: Daemon) => {}) {
  const daemon = await Daemon.start(t);
  const { data, token } = daemon;
  const log = path.join(data, 'courtd.db-wal');
  await daemon.post(event({ event_id: 'synced' }));
  const before = fs.statSync(log).size;
  const effect = `delay_enter=${SYNC_MS * 1000}`;
  const fault = await Fault.begin(t, daemon, { calls: SYNC, effect, file: 'courtd.db-wal' });
  const unsynced = event({ event_id: 'unsynced' });
  let isAnswered = false;
  const answer = daemon
    .post(unsynced)
    .then(() => {
      isAnswered = true;
    })
    .catch(() => {});
  while (fs.statSync(log).size === before) await sleep(5);
  await whileHeld(daemon);
  t.equal(isAnswered, false, 'it was not synced meanwhile');
  await fault.kill(daemon);
  await answer;
  return { data, token, unsynced, trace: path.join(temporaryFolder(t), 'trace') };
}

/** Checks that the log was written again, and synced, before the first call like `next`. */
function checkOrder(t: Test, trace: string, next: RegExp): void {
  const calls = fs.readFileSync(trace, 'utf8').split('\n');
  const written = calls.findIndex((call) => /pwrite64\(.*courtd\.db-wal/.test(call));
  const synced = calls.findIndex((call, i) => i > written && /fsync\(.*courtd\.db-wal/.test(call));
  t.ok(written >= 0, 'the log was written again');
  t.ok(synced >= 0 && synced < calls.findIndex((call) => next.test(call)), `and synced, before ${next}`);
}

t.test('tail prints no event that is written and not yet synced', { skip: withoutStrace }, async (t) => {
  const { data, trace } = await leaveUnsynced(t, async ({ data }) => {
    const tail = new Tail(t, data, '--after', '0');
    await tail.has(1);
    const { stdout } = await courtd(['tail', '--json', '--after', '0', '--data', data]);
    t.match(stdout, /^[^\n]*"synced"[^\n]*\n$/);
    t.strictSame(tail.ids, ['synced']);
    await tail.end();
  });
  const tail = [BIN, 'tail', '--json', '--after', '0', '--data', data];
  t.match(await run('strace', [...TRACED, trace, ...tail]), { stdout: /"unsynced"/ });
  checkOrder(t, trace, /\{\\"seq\\"/);
});

t.test(
  'a start syncs what a killed daemon has written, before it listens',
  { skip: withoutStrace },
  async (t) => {
    const { data, token, unsynced, trace } = await leaveUnsynced(t);
    const again = await Daemon.run(t, data, token, [], {}, ['strace', '-D', ...TRACED, trace]);
    t.strictSame(await (await again.post(unsynced)).json(), { accepted: 0, duplicates: 1 });
    await again.stop();
    for (const next of [/listen\(/, /pwrite64\(.*courtd\.db>/]) checkOrder(t, trace, next);
  },
);
