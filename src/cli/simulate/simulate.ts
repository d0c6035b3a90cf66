import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../../base/operatorError.ts';
import { Random } from '../../base/random.ts';
import { visible } from '../../base/visibleText.ts';
import { Line } from '../../camera/line.ts';
import { Sender, type SenderCounts } from '../../camera/sender.ts';
import { counted, Progress, printData, say } from '../terminal/output.ts';
import { EVENTS_PER_S } from './court.ts';
import { type Camera, eventText, Venue } from './venue.ts';

export interface SimulateOptions {
  readonly url: URL;
  readonly token?: string;
  readonly courts: number;
  /** Events a second of the whole venue; without it, matches run in real time. */
  readonly rate?: number;
  readonly seed: number;
  /** Seconds; without it, until a signal. */
  readonly for?: number;
  readonly clean: boolean;
  /** How many events to print instead of sending them. */
  readonly print?: number;
}

/** How often the cameras detect events. */
const TICK_MS = 100;
/** The longest step of a match: if this process was stopped for longer, the match skips that time. */
const STEP_MAX_S = 5;
/** How long the cameras may take to send what they still have: after `--for`; after a signal, or where no box has answered. */
const DRAIN_MS = { long: 40_000, short: 5_000 } as const;
/** One batch in fifty is sent again although it was stored. */
const REPEATED_SHARE = 0.02;
/** When a printed match begins: a constant, so that a seed always prints the same text. */
const PRINTED_AT_MS = Date.UTC(2026, 2, 14, 15, 0, 0);
/** One position in this many is printed, so that a hundred events include every type. */
const PRINTED_POSITIONS = 5;

/** `courtd simulate`: a venue's cameras, until they are ended. @throws {OperatorError} where no event was stored. */
export async function simulate(options: SimulateOptions): Promise<void> {
  if (options.print !== undefined) return printData(sampleEvents(options, options.print));
  if (options.token === undefined)
    throw new OperatorError('There is no token: set the variable COURTD_TOKEN.');
  const run = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const venue = new Venue({ ...options, run });
  const random = new Random(options.seed);
  const senders = new Map(venue.cameras.map((camera) => [camera, makeSender(camera, options, random)]));
  const ended = endOf(options);
  const running = Promise.all([...senders.values()].map((sender) => sender.run()));
  const progress = new Progress();
  await play(venue, options, ended, (camera, text) => {
    senders.get(camera)!.offer(text);
    progress.show(() => sentence(totalOf([...senders.values()])));
  });
  const { accepted } = totalOf([...senders.values()]);
  const drainMs = DRAIN_MS[ended.reason === 'signal' || accepted === 0 ? 'short' : 'long'];
  for (const sender of senders.values()) sender.end(drainMs);
  await running;
  progress.clear();
  const total = totalOf([...senders.values()]);
  printData(`${sentence(total)}; the first court is session ${venue.sessionOf(0)}\n`);
  if (total.accepted + total.duplicates === 0)
    throw new OperatorError(`No event was stored at ${options.url.origin}: check the address and the token.`);
}

/** @returns a signal that aborts when it is time to end, with the reason 'signal' after SIGINT and the like. */
function endOf({ for: seconds }: SimulateOptions): AbortSignal {
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => end.abort('signal'));
  if (seconds !== undefined) setTimeout(() => end.abort('time'), seconds * 1000).unref();
  return end.signal;
}

async function play(
  venue: Venue,
  { courts, rate = courts * EVENTS_PER_S }: SimulateOptions,
  end: AbortSignal,
  send: (camera: Camera, text: string) => void,
): Promise<void> {
  const speed = rate / (courts * EVENTS_PER_S);
  let [matchS, elapsedS, last] = [0, 0, performance.now()];
  while (!end.aborted) {
    const now = performance.now();
    const stepS = Math.min((now - last) / 1000, STEP_MAX_S);
    last = now;
    elapsedS += stepS;
    matchS += stepS * speed;
    for (const sending of venue.until(matchS)) {
      const agoS = (matchS - sending.detection.atS) / speed;
      const text = eventText(sending, Date.now() - agoS * 1000, elapsedS);
      if (text !== undefined) send(sending.camera, text);
    }
    await sleep(TICK_MS, undefined, { signal: end }).catch(() => {});
  }
}

function makeSender({ source }: Camera, { url, token = '' }: SimulateOptions, random: Random): Sender {
  return new Sender(new Line(url, token), {
    random: Math.random,
    repeats: () => random.chance(REPEATED_SHARE),
    onTrouble: (what) => {
      // A server that is not courtd may quote the token that it was sent.
      const quotable = token === '' ? what : what.replaceAll(token, '(token removed)');
      if (what !== '') say(`courtd: ${source}: ${visible(quotable)}`);
    },
  });
}

interface Total extends SenderCounts {
  waiting: number;
}

function totalOf(senders: readonly Sender[]): Total {
  const sum = (of: (sender: Sender) => number) => senders.reduce((total, sender) => total + of(sender), 0);
  return {
    requests: sum(({ counts }) => counts.requests),
    accepted: sum(({ counts }) => counts.accepted),
    duplicates: sum(({ counts }) => counts.duplicates),
    refused: sum(({ counts }) => counts.refused),
    overflowed: sum(({ counts }) => counts.overflowed),
    waiting: sum(({ waiting }) => waiting),
  };
}

function sentence({ requests, accepted, duplicates, refused, overflowed, waiting }: Total): string {
  const lost = overflowed > 0 ? `, ${overflowed} lost because a buffer was full` : '';
  return (
    `${counted(requests, 'request')}: ${counted(accepted, 'event')} stored, ${counted(duplicates, 'duplicate')}, ` +
    `${refused} refused, ${waiting} not delivered${lost}`
  );
}

/** @returns that many events of cameras that behave, one a line. The same for the same seed. */
export function sampleEvents(
  { courts, seed }: Pick<SimulateOptions, 'courts' | 'seed'>,
  count: number,
): string {
  const venue = new Venue({ courts, seed, clean: true, run: 'sample' });
  const lines: string[] = [];
  let positions = 0;
  for (let matchS = 0; lines.length < count; matchS += 1) {
    for (const sending of venue.until(matchS)) {
      const { type, atS } = sending.detection;
      if (type === 'PLAYER_POSITION' && positions++ % PRINTED_POSITIONS > 0) continue;
      lines.push(`${eventText(sending, PRINTED_AT_MS + atS * 1000, 0)}\n`);
    }
  }
  return lines.slice(0, count).join('');
}
