import { OperatorError, UsageError } from '../../base/operatorError.ts';
import { pause } from '../../base/pause.ts';
import { abortOnSignal } from '../../base/signals.ts';
import { counted } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import { Bins, LOGARITHMIC } from '../../session/analysis/bins.ts';
import { BoxConnection } from '../../vendor/camera/boxConnection.ts';
import { Sender, type SenderCounts } from '../../vendor/camera/sender.ts';
import { EVENTS_PER_S } from '../../vendor/simulate/court.ts';
import { Random } from '../../vendor/simulate/random.ts';
import { sampleEvents } from '../../vendor/simulate/sampleEvents.ts';
import type { SportName } from '../../vendor/simulate/sports.ts';
import { eventText, type SimulatedCamera, Venue } from '../../vendor/simulate/venue.ts';
import { Progress, printData, say } from '../terminal/output.ts';

export interface SimulateOptions {
  readonly url: URL;
  readonly token?: string;
  readonly courts: number;
  readonly sport: SportName;
  /** Events a second of the whole venue; without it, matches run in real time. */
  readonly rate?: number;
  readonly seed: number;
  /** Seconds; without it, until a signal. */
  readonly for?: number;
  readonly clean: boolean;
  /** How many events to print instead of sending them. */
  readonly print?: number;
}

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

/** `courtd simulate`: a venue's cameras, until they are ended. @throws {OperatorError} where no event was stored. */
export async function simulate(options: SimulateOptions): Promise<void> {
  if (options.print !== undefined) return printData(sampleEvents(options, options.print));
  if (options.token === undefined) throw new UsageError('There is no token: set the variable COURTD_TOKEN.');
  const run = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const venue = new Venue({ ...options, run });
  const random = new Random(options.seed);
  const answers = new Answers();
  const senders = new Map(
    venue.cameras.map((camera) => [camera, makeSender(camera, options, random, answers)]),
  );
  const ended = abortOnSignal(options.for && options.for * 1000);
  const running = Promise.all([...senders.values()].map((sender) => sender.run()));
  const progress = new Progress();
  await play(venue, options, ended, (camera, text) => {
    senders.get(camera)!.offer(text);
    progress.show(() => sentence(totalOf([...senders.values()])));
  });
  const { accepted } = totalOf([...senders.values()]);
  const drainMs = DRAIN_MS[ended.reason !== 'time' || accepted === 0 ? 'short' : 'long'];
  for (const sender of senders.values()) sender.end(drainMs);
  await running;
  progress.clear();
  const total = totalOf([...senders.values()]);
  printData(
    `${sentence(total)}${answers.sentence(total.accepted)}; the first court is session ${venue.sessionOf(0)}\n`,
  );
  if (total.accepted + total.duplicates === 0)
    throw new OperatorError(`No event was stored at ${options.url.origin}: check the address and the token.`);
}

async function play(
  venue: Venue,
  { courts, rate = courts * EVENTS_PER_S }: SimulateOptions,
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

/** How fast the box has stored events, as the cameras saw it. */
class Answers {
  /** In microseconds, of requests that were answered with `202`. */
  readonly #took = new Bins(LOGARITHMIC);
  readonly #begunAt = performance.now();
  #lastAt = 0;

  add(ms: number): void {
    this.#took.add(ms * 1000);
    this.#lastAt = performance.now();
  }

  /** @returns a continuation of the summary: the rate that was reached, and how long requests took; nothing without any. */
  sentence(accepted: number): string {
    const [median, high] = [this.#took.quantile(0.5), this.#took.quantile(0.99)];
    if (median === undefined || high === undefined) return '';
    const seconds = (this.#lastAt - this.#begunAt) / 1000;
    const ms = (us: number) => `${(us / 1000).toFixed(us < 10_000 ? 1 : 0)} ms`;
    return `; ${Math.round(accepted / seconds)} events/s for ${seconds.toFixed(1)} s, answered in ${ms(median)} (p50) and ${ms(high)} (p99)`;
  }
}

function makeSender(
  { source, fault }: SimulatedCamera,
  { url, token = '' }: SimulateOptions,
  random: Random,
  answers: Answers,
): Sender {
  return new Sender(new BoxConnection(url, token), {
    random: Math.random,
    ...(fault === 'falls silent' && { aliveEveryMs: Number.POSITIVE_INFINITY }),
    repeats: () => random.chance(REPEATED_SHARE),
    onStored: (ms) => answers.add(ms),
    onProblem: (problem) => {
      // A server that is not courtd may quote the token that it was sent.
      const quotable = token === '' ? problem : problem.replaceAll(token, '(token removed)');
      say(`courtd: ${source}: ${visible(quotable)}`);
    },
  });
}

function totalOf(senders: readonly Sender[]) {
  const total = { requests: 0, accepted: 0, duplicates: 0, refused: 0, overflowed: 0, waiting: 0 };
  for (const { counts, waiting } of senders) {
    for (const name of Object.keys(counts) as (keyof SenderCounts)[]) total[name] += counts[name];
    total.waiting += waiting;
  }
  return total;
}

function sentence({
  requests,
  accepted,
  duplicates,
  refused,
  overflowed,
  waiting,
}: ReturnType<typeof totalOf>): string {
  const lost = overflowed > 0 ? `, ${overflowed} lost because a buffer was full` : '';
  return (
    `${counted(requests, 'request')}: ${counted(accepted, 'event')} stored, ${counted(duplicates, 'duplicate')}, ` +
    `${refused} refused, ${waiting} not delivered${lost}`
  );
}
