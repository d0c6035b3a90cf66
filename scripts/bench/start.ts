import { atMost, type Verdict } from './bars.ts';
import type { Target } from './contender.ts';
import { courtd, courtTarget, newToken, serve } from './courtd.ts';
import type { Ground } from './ground.ts';
import { BATCHES } from './load.ts';
import { median } from './measure.ts';
import type { Section } from './section.ts';
import { Traffic } from './traffic.ts';

/** How long courtd takes to start on a million events, after a clean stop and after a kill under load. */

const TURNS = 5;
const MOST_MS = 1_000;

export const start: Section = {
  name: 'start',
  async run(ground) {
    const { directory } = await ground.million('start');
    const token = await newToken(directory);
    const clean: Started[] = [];
    const killed: Started[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      clean.push(await startOnce(directory, token));
      await killUnderLoad(ground, directory, turn);
      killed.push(await startOnce(directory, token));
    }
    return [...judgeStarts('after a clean stop', clean), ...judgeStarts('after a kill under load', killed)];
  },
};

/** Milliseconds since the process was spawned. */
interface Started {
  readonly listening: number;
  readonly answered: number;
}

async function startOnce(directory: string, token: string): Promise<Started> {
  const startedAt = performance.now();
  const child = serve(directory);
  const target = await courtTarget(child, token);
  const listening = performance.now() - startedAt;
  await sendOne(target);
  const answered = performance.now() - startedAt;
  await child.stop();
  return { listening, answered };
}

async function sendOne({ port, path, headers, wording }: Target): Promise<void> {
  const body = new Traffic(wording, 'start', 0).next(1);
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body });
  if (answer.status !== 202) throw new Error(`The first answer was ${answer.status}: ${await answer.text()}`);
}

async function killUnderLoad(ground: Ground, directory: string, turn: number): Promise<void> {
  const { child, target } = await courtd.start(directory);
  const { connections, events } = BATCHES;
  await ground.send({ target, connections, events, seconds: 1, run: `start-${turn}`, before: 0 });
  // The load has only just ended, so its write-ahead log has not been checkpointed.
  await child.kill();
}

function judgeStarts(when: string, starts: readonly Started[]): Verdict[] {
  const middle = (value: keyof Started) => median(starts.map((one) => one[value]));
  return [
    atMost(`Start on a million events ${when}: until it listens`, middle('listening'), MOST_MS, 'ms'),
    atMost(`Start on a million events ${when}: until the first 202`, middle('answered'), MOST_MS, 'ms'),
  ];
}
