import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { Problem } from '../../src/protocol/errors.ts';
import type { Daemon } from '../harness/daemon.ts';
import { keyOf } from '../harness/events.ts';
import { FUZZ_BODY_LIMIT_BYTES, type FuzzCase, type Rendered, render, seedsOf } from './case.ts';
import { Ledger } from './ledger.ts';
import { type FuzzAnswer, type Played, play, quoted } from './play.ts';

/** Requests of the wire table at a daemon, and what must hold whatever is sent. It knows what must be stored, and asks for it. */

/** What the daemon that is fuzzed is started with. */
export const FUZZ_ARGS = ['--rate-limit', '0', '--body-limit', `${FUZZ_BODY_LIMIT_BYTES}`];

/** Bytes of a failure that are printed. */
const PRINTED_BYTES = 20_000;

interface Expected extends Rendered {
  /** The keys of its events; undefined where its body must not be stored. */
  readonly keys: readonly string[] | undefined;
  /** What it is answered, if it is plain. */
  readonly answer: string;
}

export class Fuzzer {
  readonly #daemon: Daemon;
  readonly #seeds: ReturnType<typeof seedsOf>;
  readonly ledger = new Ledger();
  #logged = 0;
  cases = 0;
  /** How often each answer came. */
  readonly answers: Record<string, number> = {};

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
    this.#seeds = seedsOf(daemon.token);
  }

  /** @throws {Error} with the bytes, where something does not hold. */
  async try(fuzzed: FuzzCase): Promise<void> {
    const unique = `${process.pid}-${++this.cases}`;
    const { token } = this.#daemon;
    const all = fuzzed.requests.map((one, i) => expect(render(one, this.#seeds, token, `${unique}-${i}`)));
    const parts = fuzzed.requests.map(({ waits }, i) => ({ waits, bytes: all[i]!.bytes }));
    try {
      // Before they are sent: the time limit may interrupt the case before it ends.
      for (const one of all) this.#mayHold(one);
      const played = await play(this.#daemon, { ...fuzzed, parts });
      for (const { status, code = status } of played.answers)
        this.answers[code] = (this.answers[code] ?? 0) + 1;
      await this.#settle(all, acknowledgedOf(all, played.answers));
      if (all.every(({ isPlain }) => isPlain) && fuzzed.ending === 'end') check(all, played);
      this.#readLog();
    } catch (error) {
      const bytes = Buffer.concat(parts.map((part) => part.bytes)).subarray(0, PRINTED_BYTES);
      const how = JSON.stringify({ ...fuzzed, requests: fuzzed.requests.length });
      throw new Error(`${(error as Error).message}\nof these bytes, ${how}:\n${quoted(bytes)}`);
    }
  }

  #mayHold({ keys, decoded, carried }: Expected): void {
    if (keys !== undefined && decoded !== undefined) this.ledger.mayHold(decoded);
    // Behind a request that does not end where it was meant to, what the body of one carries may be a request.
    if (carried !== undefined) this.ledger.mayHold(carried);
  }

  /** Sent again, plainly: all of its events are there, or none was; and all that were acknowledged are. */
  async #settle(all: readonly Expected[], acknowledged: ReadonlySet<Expected>): Promise<void> {
    for (const one of all) {
      const { keys, decoded } = one;
      if (keys === undefined || decoded === undefined) continue;
      const others = new Set(all.flatMap((other) => (other === one ? [] : (other.keys ?? []))));
      const fresh = new Set(keys.filter((key) => !this.ledger.holds(key))).size;
      const accepted = await this.#resend(decoded, keys);
      if (accepted > 0 && acknowledged.has(one))
        throw new Error(`Answered 202, and ${accepted} of ${keys.length} events were not stored.`);
      // Of those that other requests have as well, a part may have come with them.
      if (accepted !== 0 && accepted !== fresh && !keys.some((key) => others.has(key)))
        throw new Error(`A part of it was stored: ${accepted} of ${fresh} was new.`);
    }
  }

  /** @returns how many of its events were not stored. */
  async #resend(body: Buffer, keys: readonly string[]): Promise<number> {
    const response = await this.#daemon.post(body);
    if (response.status !== 202) throw new Error(`Sent again: ${response.status} ${await response.text()}`);
    const { accepted, duplicates } = (await response.json()) as FuzzAnswer;
    if (accepted + duplicates !== keys.length)
      throw new Error(`Of ${keys.length}: ${accepted} + ${duplicates}.`);
    this.ledger.mustHold(keys);
    return accepted;
  }

  #readLog(): void {
    const { log, child } = this.#daemon;
    const fault = log.slice(this.#logged).find(({ level }) => level === 'error' || level === 'fatal');
    this.#logged = log.length;
    if (fault !== undefined) throw new Error(`The log says ${JSON.stringify(fault)}`);
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('It ended.');
  }
}

function expect(rendered: Rendered): Expected {
  const { decoded, sentBytes, code } = rendered;
  if (decoded === undefined || sentBytes > FUZZ_BODY_LIMIT_BYTES || decoded.length > FUZZ_BODY_LIMIT_BYTES) {
    const isLarge = sentBytes > FUZZ_BODY_LIMIT_BYTES || decoded !== undefined;
    const answer = code ?? (isLarge ? 'body_too_large' : 'invalid_encoding');
    return { ...rendered, keys: undefined, answer };
  }
  try {
    const keys = decodeBatch(decoded).map(({ sessionId, eventId, revision }) =>
      keyOf({ session_id: sessionId, event_id: eventId, revision }),
    );
    return { ...rendered, keys, answer: code ?? '202' };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { ...rendered, keys: undefined, answer: code ?? error.code };
  }
}

/** @returns those that were answered 202: as long as each request is plain, an answer is that of its own one. */
function acknowledgedOf(all: readonly Expected[], answers: readonly FuzzAnswer[]): Set<Expected> {
  const acknowledged = new Set<Expected>();
  for (const [i, one] of all.entries()) {
    const { accepted, duplicates, status } = answers[i] ?? { status: 0, accepted: 0, duplicates: 0 };
    if (!one.isPlain) break;
    if (status !== 202) continue;
    if (one.answer !== '202') throw new Error(`Request ${i} was answered 202 instead of ${one.answer}.`);
    if (accepted + duplicates !== one.keys?.length)
      throw new Error(`Of ${one.keys?.length} events: ${accepted} accepted, ${duplicates} duplicates.`);
    acknowledged.add(one);
  }
  return acknowledged;
}

/**
 * Plain requests are answered in their order, as they deserve, and none is answered behind one that is the last on its connection.
 * What comes before the answer to the one in front of it may be left without, and a rejection may end the connection.
 */
function check(all: readonly Expected[], { answers, isReset, isOneByOne }: Played): void {
  const end = all.findIndex(({ isLast }) => isLast);
  const most = end < 0 ? all.length : end + 1;
  const told = answers.map(({ status, code }) => code ?? `${status}`);
  const isUnbroken = isOneByOne && told.every((status) => status === '202');
  const least = isReset ? 0 : isUnbroken ? most : 1;
  const wanted = all.slice(0, told.length).map(({ answer }) => answer);
  if (`${told}` !== `${wanted}`) throw new Error(`Answered ${told} instead of ${wanted}.`);
  if (told.length > most || told.length < least)
    throw new Error(`${told.length} answers instead of ${least} to ${most}.`);
}
