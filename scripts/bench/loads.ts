import path from 'node:path';
import { Child } from './child.ts';
import type { Running } from './contenders.ts';
import type { Order, Outcome } from './sender.ts';

export const SECTIONS = ['contest', 'venue'];

/** A kind of load. */
interface Load extends Pick<Order, 'connections' | 'events' | 'requestsPerS' | 'courts'> {
  readonly section: string;
  readonly title: string;
}

/** At saturation, and as cameras send: at random times, whether the last request has been answered or not. */
export const LOADS: readonly Load[] = [
  { section: 'contest', title: '64 connections x 1', connections: 64, events: [1, 1], courts: 16 },
  { section: 'contest', title: '8 connections x 500', connections: 8, events: [500, 500], courts: 16 },
  { section: 'contest', title: '1 connection x 1', connections: 1, events: [1, 1], courts: 16 },
  {
    section: 'venue',
    title: '40 cameras, each 4 requests/s of 5 events',
    ...{ connections: 40, events: [5, 5], requestsPerS: 4, courts: 40 },
  },
  {
    section: 'venue',
    title: '100 cameras, each 4 requests/s of 1 to 20 events',
    ...{ connections: 100, events: [1, 20], requestsPerS: 4, courts: 40 },
  },
];

/** One run of one load. */
export interface Sample {
  readonly eventsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** For each event; see Usage. */
  readonly writtenBytes: number;
  readonly cpuUs: number;
}

const SENDER = path.join(import.meta.dirname, 'sender.ts');

/** Runs a load against one contender, while the others are paused. @throws {Error} if a request failed. */
export async function measured(running: Running, load: Load, seconds: number): Promise<Sample> {
  const { child, target } = running;
  // What others wrote must not slow this one down.
  await new Child('sync', []).output();
  child.resume();
  const before = child.usage();
  const { section: _, title, ...order } = load;
  const sent: Order = { ...order, ...target, seconds, run: `${load.courts}`, before: running.events };
  const outcome: Outcome = JSON.parse(
    await new Child(process.execPath, [SENDER, JSON.stringify(sent)]).output(),
  );
  if (child.hasEnded) child.fail();
  const after = child.usage();
  child.pause();
  if (outcome.failures > 0) throw new Error(`${title}: ${outcome.failures} requests failed.`);
  running.events += outcome.events;
  return {
    eventsPerS: outcome.events / outcome.seconds,
    p50Ms: outcome.p50Ms,
    p99Ms: outcome.p99Ms,
    writtenBytes: (after.writtenBytes - before.writtenBytes - outcome.answerBytes) / outcome.events,
    cpuUs: ((after.cpuSeconds - before.cpuSeconds) * 1e6) / outcome.events,
  };
}
