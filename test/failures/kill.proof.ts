import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Cameras } from '../harness/cameras.ts';
import { compareStored } from '../harness/compareStored.ts';
import { Daemon } from '../harness/daemon.ts';
import { History } from '../harness/history.ts';
import { chanceOf } from '../harness/seed.ts';
import { StoredReader } from '../harness/storedReader.ts';
import { Traffic } from '../harness/traffic.ts';

const KILLS = 15;
/** It is killed after so many answers more, and a moment: from before the first request to well under way. */
const ANSWERS = 60;
const MOMENT_MS = 20;
const NO_LIMIT = ['--rate-limit', '0'];

t.test(`after ${KILLS} times kill -9 under load every acknowledged event is stored once`, async (t) => {
  const random = chanceOf(t);
  const history = new History();
  const reader = new StoredReader(history);
  const traffic = new Traffic(random, history);
  let daemon = await Daemon.start(t, NO_LIMIT);
  const { data, token } = daemon;
  const cameras = new Cameras(t, daemon, { history, traffic, pauseMs: 2 });
  for (let kill = 1; kill <= KILLS; kill++) {
    const enough = history.answered(0).length + random.integer(0, ANSWERS);
    while (history.answered(0).length < enough) await sleep(1);
    await sleep(random.integer(0, MOMENT_MS));
    await daemon.stop('SIGKILL');
    daemon = await Daemon.run(t, data, token, NO_LIMIT);
    cameras.follow(daemon);
    // In one go, so that no further answer comes in between.
    const answered = history.answered(0);
    t.strictSame(compareStored(reader.read(data), history, answered), [], `after kill ${kill}`);
  }
  await cameras.stop();
  t.strictSame(compareStored(reader.read(data), history, history.answered(0)), [], 'at the end');
  t.strictSame(history.faults, []);
  t.equal(history.answered(0).length, history.requests.length, 'every request was answered in the end');
  t.ok(history.resends > KILLS, `${history.resends} resends`);
  t.comment(`${history.texts.size} events, ${history.requests.length} requests, ${history.resends} resends`);
  t.equal(await daemon.stop(), 0);
});
