import { pause } from '../../base/pause.ts';
import { connectionTo } from '../camera/boxConnection.ts';
import { NO_COUNTS, Sender } from '../camera/sender.ts';
import { Random } from './random.ts';
import { type SimulatedCamera, Venue } from './venue.ts';

const TICK_MS = 100;
/** If this process was stopped for longer, the match skips the rest, so that answers are read in time. */
const STEP_MAX_S = 5;
/** How long the cameras may take to send what they still have: after `--for`; after a signal, or if no box has answered. */
const DRAIN_MS = { long: 40_000, short: 5_000 } as const;
/** One batch in fifty is sent again although it was stored. */
const REPEATED_SHARE = 0.02;

export interface RunOptions {
  readonly url: URL;
  readonly token: string;
  readonly courts: number;
  readonly seed: number;
  /** No camera misbehaves. */
  readonly clean: boolean;
}

/**
 * Lets the cameras of a venue send their events until `ended`, and then those that they still have.
 * @param ended by `time`, or a signal. @param onProblem is called with what a camera reports, which quotes no token.
 * @returns the counts of all cameras together, how many events were not delivered, and the session of the first court.
 */
export async function runVenue(
  options: RunOptions,
  ended: AbortSignal,
  onProblem: (source: string, problem: string) => void,
): Promise<typeof NO_COUNTS & { readonly undelivered: number; readonly session: string }> {
  const run = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const venue = new Venue({ ...options, run });
  const random = new Random(options.seed);
  const counts = { ...NO_COUNTS };
  const senderOf = ({ source, fault }: SimulatedCamera) =>
    new Sender(connectionTo(options.url, options.token), {
      counts,
      random: Math.random,
      ...(fault === 'falls silent' && { aliveEveryMs: Number.POSITIVE_INFINITY }),
      repeats: () => random.chance(REPEATED_SHARE),
      // A server that is not courtd may quote the token that it was sent.
      onProblem: (problem) => onProblem(source, problem.replaceAll(options.token, '(token removed)')),
    });
  const senders = new Map(venue.cameras.map((camera) => [camera, senderOf(camera)]));
  const all = [...senders.values()];
  const running = Promise.all(all.map((sender) => sender.run()));
  let [matchS, last] = [0, performance.now()];
  for (; !ended.aborted; await pause(TICK_MS, ended)) {
    const now = performance.now();
    matchS += Math.min((now - last) / 1000, STEP_MAX_S);
    last = now;
    const seen = venue.until(matchS, Date.now() - matchS * 1000);
    for (const { camera, text } of seen) senders.get(camera)!.offer(text);
  }
  const isDrained = ended.reason === 'time' && counts.accepted > 0;
  for (const sender of all) sender.end(DRAIN_MS[isDrained ? 'long' : 'short']);
  await running;
  const undelivered = all.reduce((sum, sender) => sum + sender.undelivered, 0);
  return { ...counts, undelivered, session: venue.sessionOf(0) };
}
