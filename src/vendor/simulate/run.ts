import { Bins, LOGARITHMIC } from '../../base/bins.ts';
import { pause } from '../../base/pause.ts';
import { BoxConnection } from '../camera/boxConnection.ts';
import { Sender, type SenderCounts } from '../camera/sender.ts';
import { EVENTS_PER_S } from './court.ts';
import { Random } from './random.ts';
import type { SportName } from './sports.ts';
import { eventText, type SimulatedCamera, Venue } from './venue.ts';

const TICK_MS = 100;
/**
 * The longest step of a match, in time and in events of the venue: if this process was stopped for longer, or makes no more events
 * in that time, the match skips the rest, so that answers are read in time.
 */
const STEP_MAX = { s: 5, events: 10_000 } as const;
/** How long the cameras may take to send what they still have: after `--for`; after a signal, or where no box has answered. */
const DRAIN_MS = { long: 40_000, short: 5_000 } as const;
/** One batch in fifty is sent again although it was stored. */
const REPEATED_SHARE = 0.02;

export interface RunOptions {
  readonly url: URL;
  readonly token: string;
  readonly courts: number;
  readonly sport: SportName;
  /** Events a second of the whole venue; without it, matches run in real time. */
  readonly rate?: number;
  readonly seed: number;
  /** No camera misbehaves. */
  readonly clean: boolean;
}

/** Of all cameras together. */
export interface RunCounts extends SenderCounts {
  /** Events that are neither known to be stored nor refused for good. */
  waiting: number;
}

/** How fast the box has stored events, as the cameras saw it. */
export interface Pace {
  readonly eventsPerS: number;
  readonly seconds: number;
  /** How long requests took until their `202`, in microseconds. */
  readonly medianUs: number;
  readonly highUs: number;
}

interface RunListener {
  /** Called with each event that a camera sends. */
  sent(counts: () => RunCounts): void;
  /** @param problem what a camera says, which quotes no token. */
  problem(source: string, problem: string): void;
}

interface RunResult {
  readonly counts: RunCounts;
  /** Undefined where nothing was stored. */
  readonly pace: Pace | undefined;
  /** The session of the first court. */
  readonly session: string;
}

/** Has the cameras of a venue send what they see, until `ended`, and then what they still have. @param ended by `time`, or a signal. */
export async function runVenue(
  options: RunOptions,
  ended: AbortSignal,
  listener: RunListener,
): Promise<RunResult> {
  const run = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const venue = new Venue({ ...options, run });
  const random = new Random(options.seed);
  const answers = new Answers();
  const senders = new Map(
    venue.cameras.map((camera) => [camera, makeSender(camera, options, random, answers, listener)]),
  );
  const counts = () => totalOf([...senders.values()]);
  const running = Promise.all([...senders.values()].map((sender) => sender.run()));
  await play(venue, options, ended, (camera, text) => {
    senders.get(camera)!.offer(text);
    listener.sent(counts);
  });
  const drainMs = DRAIN_MS[ended.reason !== 'time' || counts().accepted === 0 ? 'short' : 'long'];
  for (const sender of senders.values()) sender.end(drainMs);
  await running;
  const total = counts();
  return { counts: total, pace: answers.pace(total.accepted), session: venue.sessionOf(0) };
}

async function play(
  venue: Venue,
  { courts, rate = courts * EVENTS_PER_S }: RunOptions,
  end: AbortSignal,
  send: (camera: SimulatedCamera, text: string) => void,
): Promise<void> {
  const speed = rate / (courts * EVENTS_PER_S);
  let [matchS, elapsedS, last] = [0, 0, performance.now()];
  while (!end.aborted) {
    const now = performance.now();
    const stepS = Math.min((now - last) / 1000, STEP_MAX.s, STEP_MAX.events / rate);
    last = now;
    elapsedS += stepS;
    matchS += stepS * speed;
    for (const sending of venue.until(matchS)) {
      const agoS = (matchS - sending.detection.atS) / speed;
      const text = eventText(sending, Date.now() - agoS * 1000, elapsedS);
      if (text !== undefined) send(sending.camera, text);
    }
    await pause(TICK_MS, end);
  }
}

class Answers {
  /** In microseconds, of requests that were answered with `202`. */
  readonly #took = new Bins(LOGARITHMIC);
  readonly #begunAt = performance.now();
  #lastAt = 0;

  add(ms: number): void {
    this.#took.add(ms * 1000);
    this.#lastAt = performance.now();
  }

  pace(accepted: number): Pace | undefined {
    const [medianUs, highUs] = [this.#took.quantile(0.5), this.#took.quantile(0.99)];
    if (medianUs === undefined || highUs === undefined) return undefined;
    const seconds = (this.#lastAt - this.#begunAt) / 1000;
    return { eventsPerS: accepted / seconds, seconds, medianUs, highUs };
  }
}

function makeSender(
  { source, fault }: SimulatedCamera,
  { url, token }: RunOptions,
  random: Random,
  answers: Answers,
  listener: RunListener,
): Sender {
  return new Sender(new BoxConnection(url, token), {
    random: Math.random,
    ...(fault === 'falls silent' && { aliveEveryMs: Number.POSITIVE_INFINITY }),
    repeats: () => random.chance(REPEATED_SHARE),
    onStored: (ms) => answers.add(ms),
    onProblem: (problem) =>
      // A server that is not courtd may quote the token that it was sent.
      listener.problem(source, token === '' ? problem : problem.replaceAll(token, '(token removed)')),
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
