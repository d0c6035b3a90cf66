import t from 'tap';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import { Cameras } from '../harness/cameras.ts';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { chanceOf } from '../harness/seed.ts';

runInProcess();

const random = chanceOf(t);
const START_MS = Date.UTC(2026, 2, 14, 15);

/** With eots all over a minute: none of them comes in order. */
function shuffled(count: number): WireEvent[] {
  const eot = () => new Date(START_MS + Math.floor(random.next() * 60_000)).toISOString();
  return Array.from({ length: count }, () => event({ eot: eot() }));
}

t.test('exports while events come in, and after kill -9: whole, in order, nothing twice', async (t) => {
  let daemon = await Daemon.start(t, ['--rate-limit', '0']);
  const cameras = new Cameras(t, daemon, { batch: 100, fresh: shuffled });
  const check = async (when: string): Promise<string[]> => {
    const before = [...cameras.acknowledged];
    const exported = (await daemon.exported('session-1')).map((line) => JSON.parse(line) as WireEvent);
    const ids = new Set(exported.map(({ event_id }) => event_id));
    t.equal(ids.size, exported.length, `${when}: nothing is twice in ${exported.length} events`);
    t.strictSame(
      before.filter((id) => !ids.has(id)),
      [],
      `${when}: all that was acknowledged is there`,
    );
    const early = exported.find(({ eot }, i) => i > 0 && eot < exported[i - 1]!.eot);
    t.equal(early, undefined, `${when}: in order`);
    return [...ids];
  };
  for (let round = 1; round <= 2; round++) {
    await cameras.more(1_000);
    if (round % 2 === 0) {
      await daemon.stop('SIGKILL');
      await check(`killed, round ${round}`);
      daemon = await Daemon.run(t, daemon.data, daemon.token, ['--rate-limit', '0']);
      cameras.follow(daemon);
    }
    await check(`round ${round}`);
  }
  await cameras.stop();
  const ids = await check('at the end');
  t.strictSame(ids.sort(), cameras.acknowledged.toSorted());
  const list = await daemon.command('session', 'list', '--json');
  t.match(JSON.parse(list.stdout), [{ session_id: 'session-1', events: ids.length }]);
});
