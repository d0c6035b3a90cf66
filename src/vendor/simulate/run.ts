import { pause } from '../../base/pause.ts';
import { BoxConnection } from '../camera/boxConnection.ts';
import { Sender, type SenderCounts } from '../camera/sender.ts';
import { Random } from './random.ts';
import { eventText, type SimulatedCamera, Venue } from './venue.ts';

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

/** Of all cameras together. */
export interface RunCounts extends SenderCounts {
  /** Events that are neither known to be stored nor rejected for good. */
  waiting: number;
}

/**
 * Has the cameras of a venue send what they see, until `ended`, and then what they still have.
 * @param ended by `time`, or a signal. @param onProblem is called with what a camera reports, which quotes no token.
 * @returns the counts, and the session of the first court.
 */
export async function runVenue(
  options: RunOptions,
  ended: AbortSignal,
  onProblem: (source: string, problem: string) => void,
): Promise<{ readonly counts: RunCounts; readonly session: string }> {
  const run = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const venue = new Venue({ ...options, run });
  const random = new Random(options.seed);
  const senders = new Map(
    venue.cameras.map((camera) => [camera, makeSender(camera, options, random, onProblem)]),
  );
  const running = Promise.all([...senders.values()].map((sender) => sender.run()));
  await play(venue, ended, (camera, text) => senders.get(camera)!.offer(text));
  const isDrained = ended.reason === 'time' && totalOf([...senders.values()]).accepted > 0;
  const drainMs = DRAIN_MS[isDrained ? 'long' : 'short'];
  for (const sender of senders.values()) sender.end(drainMs);
  await running;
  return { counts: totalOf([...senders.values()]), session: venue.sessionOf(0) };
}

async function play(
  venue: Venue,
  end: AbortSignal,
  send: (camera: SimulatedCamera, text: string) => void,
): Promise<void> {
  let [matchS, last] = [0, performance.now()];
  while (!end.aborted) {
    const now = performance.now();
    matchS += Math.min((now - last) / 1000, STEP_MAX_S);
    last = now;
    for (const sending of venue.until(matchS)) {
      const agoS = matchS - sending.detection.atS;
      const text = eventText(sending, Date.now() - agoS * 1000, matchS);
      if (text !== undefined) send(sending.camera, text);
    }
    await pause(TICK_MS, end);
  }
}

function makeSender(
  { source, fault }: SimulatedCamera,
  { url, token }: RunOptions,
  random: Random,
  onProblem: (source: string, problem: string) => void,
): Sender {
  return new Sender(new BoxConnection(url, token), {
    random: Math.random,
    ...(fault === 'falls silent' && { aliveEveryMs: Number.POSITIVE_INFINITY }),
    repeats: () => random.chance(REPEATED_SHARE),
    onProblem: (problem) =>
      // A server that is not courtd may quote the token that it was sent.
      onProblem(source, problem.replaceAll(token, '(token removed)')),
  });
}

function totalOf(senders: readonly Sender[]): RunCounts {
  const total = { requests: 0, accepted: 0, duplicates: 0, refused: 0, overflowed: 0, waiting: 0 };
  for (const { counts, waiting } of senders) {
    for (const name of Object.keys(counts) as (keyof SenderCounts)[]) total[name] += counts[name];
    total.waiting += waiting;
  }
  return total;
}
