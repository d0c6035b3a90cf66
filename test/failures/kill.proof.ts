import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { openDatabase } from '../../src/store/open/openDatabase.ts';
import { EventKeys, KEY_LIMITS } from '../../src/store/write/keys.ts';
import { Random } from '../../src/vendor/simulate/random.ts';
import { compareStored } from '../harness/compareStored.ts';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { History } from '../harness/history.ts';
import { reseal } from '../harness/scratchStore.ts';
import { Senders, targetOf } from '../harness/senders.ts';
import { StoredReader, storedEvents } from '../harness/storedReader.ts';
import { Traffic } from '../harness/traffic.ts';

const KILLS = 15;
/** It is killed after so many answers more, and a moment: from before the first request to well under way. */
const ANSWERS = 60;
const MOMENT_MS = 20;
const NO_LIMIT = ['--rate-limit', '0'];

t.test(`kill -9, ${KILLS} times, under load: what was acknowledged is there, once`, async (t) => {
  const random = new Random(Date.now());
  const history = new History();
  const reader = new StoredReader(history);
  const traffic = new Traffic(random, history);
  let daemon = await Daemon.start(t, NO_LIMIT);
  const { data, token } = daemon;
  const clock = () => 0;
  const senders = new Senders({ history, traffic, clock, requests: 1e6, token, pauseMs: 2 });
  senders.target = targetOf(daemon);
  const running = senders.run();
  for (let kill = 1; kill <= KILLS; kill++) {
    const enough = history.answered(0).length + random.integer(0, ANSWERS);
    while (history.answered(0).length < enough) await sleep(1);
    await sleep(random.integer(0, MOMENT_MS));
    await daemon.stop('SIGKILL');
    daemon = await Daemon.run(t, data, token, NO_LIMIT);
    senders.target = targetOf(daemon);
    // In one go, so that no further answer comes in between.
    const answered = history.answered(0);
    t.strictSame(compareStored(reader.read(data), history, answered), [], `after kill ${kill}`);
  }
  senders.stop();
  await running;
  t.strictSame(compareStored(reader.read(data), history, history.answered(0)), [], 'at the end');
  t.strictSame(history.faults, []);
  t.equal(history.answered(0).length, history.requests.length, 'every request was answered in the end');
  t.ok(history.resends > KILLS, `${history.resends} resends`);
  t.comment(`${history.texts.size} events, ${history.requests.length} requests, ${history.resends} resends`);
  t.equal(await daemon.stop(), 0);
});

t.test('it starts on a million events, and knows all of them', async (t) => {
  const data = temporaryFolder(t);
  const rotated = await courtd(['token', 'rotate', '--data', data]);
  const db = openDatabase(new DataDirectory(data));
  db.pragma('synchronous = OFF');
  const events = 1_000_000;
  db.exec(`
    INSERT INTO origin VALUES (1, 'venue-1', 'court-1', 'camera-1', 'BALL_HIT', '1.0');
    WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 19)
      INSERT INTO session (id, name) SELECT i + 1, 'session-' || i FROM n;`);
  const insert = (from: number, to: number) =>
    db.exec(`
      WITH RECURSIVE n (i) AS (VALUES (${from}) UNION ALL SELECT i + 1 FROM n WHERE i < ${to - 1})
        INSERT INTO event SELECT i + 1, 1 + i / 50000, lower(hex(randomblob(12))), 0, 1773500966535000000 + i,
          '2026-03-14T15:09:26.535Z', 1, 0.97, 1773500966600, 0, '{"x_ft":12.5}', NULL, NULL FROM n;`);
  // The daemon would have moved the keys by and by, all but as many as it keeps in memory.
  insert(0, events - KEY_LIMITS.calm + 1);
  const keys = new EventKeys(db);
  while (!keys.moveStep());
  insert(events - KEY_LIMITS.calm + 1, events);
  const seqs = [1, events / 2, events - KEY_LIMITS.calm, events];
  reseal(db, `e.seq IN (${seqs})`);
  const old = [...storedEvents(db, `seq IN (${seqs})`)].map(({ json }) => json);
  db.close();
  const daemon = await Daemon.run(t, data, rotated.stdout.trim());
  const response = await daemon.post(`[${old}]`);
  t.strictSame(await response.json(), { accepted: 0, duplicates: old.length });
});
