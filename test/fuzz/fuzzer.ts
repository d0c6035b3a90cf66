import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { Problem } from '../../src/protocol/errors.ts';
import type { Daemon } from '../harness/daemon.ts';
import { keyOf } from '../harness/events.ts';
import { carried, type FuzzCase, type FuzzRequest, PLAIN, rendered } from './case.ts';
import { answerToHead, isAmbiguous, isFramed, isLast, isPlain } from './head.ts';
import { Ledger } from './ledger.ts';
import { FUZZ_BODY_LIMIT_BYTES, type Rendered } from './packing.ts';
import { type FuzzAnswer, type Played, play, quoted } from './play.ts';

/**
 * A structure-aware fuzzer: connections with one or several requests that were good once, at a daemon, and what must
 * hold whatever is sent. It knows what must be stored, and asks for it.
 */

/** What the daemon that is fuzzed is started with. */
export const FUZZ_ARGS = ['--rate-limit', '0', '--body-limit', `${FUZZ_BODY_LIMIT_BYTES}`];

/** Up to this length the bytes of a failure are printed; above it they go to a file. */
const PRINTED_BYTES = 20_000;
/** Cases between two looks at what is stored. */
const LOOK_EVERY = 1_000;

interface Expected {
  readonly rendered: Rendered;
  readonly bytes: Buffer;
  /** The keys of its events; undefined if it must not be stored. */
  readonly keys: readonly string[] | undefined;
  /** What a plain request with it must be answered; undefined if that is not known. */
  readonly answer: string | undefined;
}

export class Fuzzer {
  readonly #daemon: Daemon;
  readonly #ledger = new Ledger();
  #cases = 0;
  #logged = 0;
  /** How often each answer came. */
  readonly answers: Record<string, number> = {};

  constructor(daemon: Daemon) {
    this.#daemon = daemon;
  }

  get cases(): number {
    return this.#cases;
  }

  /** @throws {Error} with the bytes, where something does not hold. */
  async try(fuzzed: FuzzCase): Promise<void> {
    const unique = `${process.pid}-${++this.#cases}`;
    const requests = [...fuzzed.requests, ...Array.from({ length: fuzzed.behind }, () => PLAIN)];
    const expected = requests.map((request, i) => this.#expect(request, `${unique}-${i}`));
    const parts = requests.map(({ waits }, i) => ({ waits, bytes: expected[i]!.bytes }));
    try {
      const played = await play(this.#daemon.port, { ...fuzzed, parts });
      for (const { status, code } of played.answers) {
        this.answers[code ?? status] = (this.answers[code ?? status] ?? 0) + 1;
      }
      const acknowledged = acknowledgedOf(requests, expected, played.answers);
      this.#noteCarried(requests, unique);
      await this.#settle(expected.slice(0, fuzzed.requests.length), acknowledged);
      await this.#settleBehind(expected.slice(fuzzed.requests.length), acknowledged);
      if (requests.every(({ head }) => isPlain(head)) && fuzzed.ending === 'end')
        check(requests, expected, played);
      this.#readLog();
      if (this.#cases % LOOK_EVERY === 0) await this.#ledger.count(this.#daemon);
    } catch (error) {
      const how = JSON.stringify({ ...fuzzed, requests: fuzzed.requests.map(({ waits }) => ({ waits })) });
      throw new Error(
        `${(error as Error).message}\nof these bytes, ${how}:\n${printed(Buffer.concat(parts.map(({ bytes }) => bytes)))}`,
      );
    }
  }

  /** @throws {Error} if the daemon does not hold what it must. */
  async look(): Promise<void> {
    await this.#ledger.count(this.#daemon);
    await this.#ledger.compare(this.#daemon);
  }

  #expect(request: FuzzRequest, unique: string): Expected {
    const { content, bytes } = rendered(request, this.#daemon.token, unique);
    const own = expect(content);
    const { head } = request;
    return { ...own, answer: isAmbiguous(head) ? undefined : (answerToHead(head) ?? own.answer), bytes };
  }

  /** Behind a request that does not end where it was meant to, what the body of one carries may be a request. */
  #noteCarried(requests: readonly FuzzRequest[], unique: string): void {
    const odd = requests.findIndex(({ head }) => !isFramed(head));
    for (const [i, { isCarrier }] of requests.entries()) {
      if (isCarrier && odd >= 0 && i >= odd)
        this.#ledger.mayHold(carried(this.#daemon.token, `${unique}-${i}`).body);
    }
  }

  /** Sent again, plainly: all of its events are there, or none was; and all that were acknowledged are. */
  async #settle(expected: readonly Expected[], acknowledged: ReadonlySet<Expected>): Promise<void> {
    for (const one of expected) {
      const { keys, rendered } = one;
      if (keys === undefined) continue;
      const others = new Set(expected.flatMap((other) => (other.keys === keys ? [] : (other.keys ?? []))));
      const fresh = new Set(keys.filter((key) => !this.#ledger.holds(key))).size;
      const accepted = await this.#resend(rendered.decoded ?? rendered.sent, keys);
      if (accepted > 0 && acknowledged.has(one))
        throw new Error(`Answered 202, and ${accepted} of ${keys.length} events were not stored.`);
      // Of those that other requests have as well, a part may have come with them.
      if (accepted !== 0 && accepted !== fresh && !keys.some((key) => others.has(key))) {
        throw new Error(`A part of it was stored: ${accepted} of ${fresh} was new.`);
      }
    }
  }

  /** The same for requests of one event each, many at a time. */
  async #settleBehind(expected: readonly Expected[], acknowledged: ReadonlySet<Expected>): Promise<void> {
    for (const isAcknowledged of [true, false]) {
      const some = expected.filter((one) => acknowledged.has(one) === isAcknowledged);
      const body = Buffer.from(`[${some.map(({ rendered }) => rendered.sent.toString()).join(',')}]`);
      const accepted = await this.#resend(
        body,
        some.flatMap(({ keys }) => keys ?? []),
      );
      if (accepted > 0 && isAcknowledged)
        throw new Error(`${some.length} requests behind were answered 202, and ${accepted} not stored.`);
    }
  }

  /** @returns how many of its events were not stored. */
  async #resend(body: Buffer, keys: readonly string[]): Promise<number> {
    this.#ledger.mayHold(body);
    const response = await this.#daemon.post(body);
    if (response.status !== 202) throw new Error(`Sent again: ${response.status} ${await response.text()}`);
    const { accepted, duplicates } = (await response.json()) as FuzzAnswer;
    if (accepted + duplicates !== keys.length)
      throw new Error(`Of ${keys.length}: ${accepted} + ${duplicates}.`);
    this.#ledger.mustHold(keys);
    return accepted;
  }

  #readLog(): void {
    const lines = this.#daemon.log;
    for (; this.#logged < lines.length; this.#logged++) {
      const line = lines[this.#logged]!;
      if (line.level === 'error' || line.level === 'fatal')
        throw new Error(`The log says ${JSON.stringify(line)}`);
    }
    if (this.#daemon.child.exitCode !== null || this.#daemon.child.signalCode !== null)
      throw new Error('It ended.');
  }
}

function expect(rendered: Rendered): Omit<Expected, 'bytes'> {
  const { sent, decoded } = rendered;
  if (sent.length > FUZZ_BODY_LIMIT_BYTES) return { rendered, keys: undefined, answer: 'body_too_large' };
  // What is called packed and is not may be stored, where its head has lost that word.
  if (decoded === undefined) return { ...expect({ sent, decoded: sent }), rendered, answer: undefined };
  if (decoded.length > FUZZ_BODY_LIMIT_BYTES) return { rendered, keys: undefined, answer: 'body_too_large' };
  try {
    const keys = decodeBatch(decoded).map(({ sessionId, eventId, revision }) =>
      keyOf({ session_id: sessionId, event_id: eventId, revision }),
    );
    return { rendered, keys, answer: '202' };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { rendered, keys: undefined, answer: error.code };
  }
}

/** @returns those that were answered 202: as long as it is certain where each request ends, an answer is that of its own one. */
function acknowledgedOf(
  requests: readonly FuzzRequest[],
  expected: readonly Expected[],
  answers: readonly FuzzAnswer[],
): Set<Expected> {
  const acknowledged = new Set<Expected>();
  for (const [i, { head }] of requests.entries()) {
    if (!isFramed(head)) break;
    if (answers[i]?.status !== 202) continue;
    const { keys, answer } = expected[i]!;
    const { accepted, duplicates } = answers[i];
    if (keys === undefined) throw new Error(`Request ${i} was answered 202 instead of ${answer}.`);
    if (accepted + duplicates !== keys.length) {
      throw new Error(`Of ${keys.length} events: ${accepted} accepted, ${duplicates} duplicates.`);
    }
    acknowledged.add(expected[i]!);
  }
  return acknowledged;
}

/**
 * Plain requests are answered in their order, as their bodies deserve, and none is answered behind one that is the last on its
 * connection. What comes before the answer to the one in front of it may be left without (design 2), and a refusal may end the
 * connection.
 */
function check(requests: readonly FuzzRequest[], expected: readonly Expected[], played: Played): void {
  const { answers, isReset, isOneByOne } = played;
  const end = requests.findIndex(({ head }) => isLast(head));
  const most = end < 0 ? requests.length : end + 1;
  const told = answers.map(({ status, code }) => code ?? `${status}`);
  const isUnbroken = isOneByOne && told.every((status) => status === '202');
  const least = isReset ? 0 : isUnbroken ? most : 1;
  const wanted = expected.slice(0, told.length).map(({ answer }, i) => answer ?? told[i]);
  if (`${told}` !== `${wanted}`) throw new Error(`Answered ${told} instead of ${wanted}.`);
  if (told.length > most || told.length < least)
    throw new Error(`${told.length} answers instead of ${least} to ${most}.`);
}

function printed(bytes: Buffer): string {
  if (bytes.length <= PRINTED_BYTES) return quoted(bytes);
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-fuzz-')), 'bytes');
  fs.writeFileSync(file, bytes);
  return `${bytes.length} bytes, in ${file}`;
}
