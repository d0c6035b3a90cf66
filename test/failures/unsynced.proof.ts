import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { BIN, courtd, Daemon, run } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { Fault, SYNC, withoutStrace } from '../harness/strace.ts';
import { Tail } from '../harness/tail.ts';

/** Longer than the test takes: the daemon is killed in it. */
const SYNC_MS = 600_000;

t.test('tail prints no event that is written and not yet synced', { skip: withoutStrace }, async (t) => {
  const daemon = await Daemon.start(t);
  const { data, token } = daemon;
  const log = path.join(data, 'courtd.db-wal');
  const ids = async () => {
    const { stdout } = await courtd(['tail', '--json', '--after', '0', '--data', data]);
    return stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).event.event_id);
  };
  await daemon.post(event({ event_id: 'synced' }));
  const tail = new Tail(t, data, '--after', '0');
  await tail.has(1);
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
  t.strictSame(await ids(), ['synced']);
  t.strictSame(tail.ids, ['synced']);
  t.equal(isAnswered, false, 'it was not synced meanwhile');
  // The first one that opens the database after this finds it in the log.
  await tail.end();
  await fault.kill(daemon);
  await answer;
  const trace = path.join(data, 'trace');
  const traced = ['-f', '-y', '-o', trace, '-e', 'trace=fsync,write,pwrite64'];
  const { stdout } = await run('strace', [...traced, BIN, 'tail', '--json', '--after', '0', '--data', data]);
  t.match(stdout, /"unsynced"/);
  const calls = fs.readFileSync(trace, 'utf8').split('\n');
  const written = calls.findIndex((call) => /pwrite64\(.*courtd\.db-wal/.test(call));
  const synced = calls.findIndex((call, i) => i > written && /fsync\(.*courtd\.db-wal/.test(call));
  const shown = calls.findIndex((call) => call.includes('{\\"seq\\"'));
  t.ok(written >= 0, 'the log was written anew');
  t.ok(synced >= 0 && synced < shown, 'and synced, before it was shown');
  const again = await Daemon.run(t, data, token);
  t.strictSame(await (await again.post(unsynced)).json(), { accepted: 0, duplicates: 1 });
});
