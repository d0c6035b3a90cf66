import { atLeast, type Verdict } from './bars.ts';
import type { Running } from './contender.ts';
import { courtd } from './courtd.ts';
import { type Ground, MILLION } from './ground.ts';
import { BATCHES } from './load.ts';
import { median } from './measure.ts';
import type { Section } from './section.ts';

/** Whether courtd stays fast as its file, or one session, grows. */

const ROUNDS = 3;
const WARM_UP_S = 1;
const BESIDE_EMPTY = 0.8;
const END_BESIDE_START = 0.6;

export const growth: Section = {
  name: 'growth',
  async run(ground) {
    return [...(await newSessions(ground)), await longSession(ground)];
  },
};

/** New sessions in large files, alternating with an empty one. */
async function newSessions(ground: Ground): Promise<Verdict[]> {
  const files = [{ millions: 1, running: await courtd.start((await ground.million('growth-1')).directory) }];
  if (ground.options.full) {
    const directory = await ground.seeded('growth-10', 10 * MILLION, 200);
    files.push({ millions: 10, running: await courtd.start(directory) });
  }
  for (const { running } of files) running.child.pause();
  const shares = files.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    const empty = await courtd.start(ground.empty('growth-0'));
    const beside = await rate(ground, empty, `round-${round}`);
    await empty.child.stop();
    for (const [i, { running }] of files.entries()) {
      running.child.resume();
      shares[i]!.push((await rate(ground, running, `round-${round}`)) / beside);
      running.child.pause();
    }
  }
  const verdicts: Verdict[] = [];
  for (const [i, { millions, running }] of files.entries()) {
    ground.notePeak(running.child.peakBytes());
    await running.child.stop();
    const what = `New sessions beside ${millions} million events: events/s against an empty file`;
    verdicts.push(atLeast(what, median(shares[i]!), BESIDE_EMPTY));
  }
  return verdicts;
}

/** @returns events a second, in sessions of this name. */
async function rate(ground: Ground, { target }: Running, name: string): Promise<number> {
  const order = { target, connections: BATCHES.connections, events: BATCHES.events, before: 0 };
  await ground.settle();
  await ground.send({ ...order, seconds: WARM_UP_S, run: `${name}-warm` });
  const { requests, seconds } = await ground.send({ ...order, seconds: ground.options.seconds, run: name });
  return (requests * BATCHES.events) / seconds;
}

/** A session of a million events, second by second; its start and its end are a fifth of it each. */
async function longSession(ground: Ground): Promise<Verdict> {
  const running = await courtd.start(ground.empty('long-session'));
  const order = { target: running.target, connections: BATCHES.connections, events: BATCHES.events };
  await rate(ground, running, 'warm');
  const slices: { readonly before: number; readonly eventsPerS: number }[] = [];
  for (let before = 0; before < MILLION; ) {
    const { requests, seconds } = await ground.send({
      ...order,
      seconds: 1,
      run: 'long',
      before,
      oneSession: true,
    });
    slices.push({ before, eventsPerS: (requests * order.events) / seconds });
    before += requests * order.events;
  }
  ground.notePeak(running.child.peakBytes());
  await running.child.stop();
  const during = (from: number, to: number) =>
    median(slices.filter(({ before }) => before >= from && before < to).map(({ eventsPerS }) => eventsPerS));
  const share = during(MILLION * 0.8, MILLION) / during(0, MILLION * 0.2);
  return atLeast(
    'A session of a million events: events/s at its end against its start',
    share,
    END_BESIDE_START,
  );
}
