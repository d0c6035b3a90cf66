import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { readBatch } from '../../src/protocol/batch.ts';
import { Problem } from '../../src/protocol/problems.ts';
import type { Daemon } from '../daemon.ts';
import { type FuzzBody, fuzzBody, renderBody } from './body.ts';
import { type FuzzHead, fuzzHead, isPlain, renderRequest } from './head.ts';
import { FUZZ_BODY_LIMIT_BYTES, type Rendered } from './packing.ts';
import { type FuzzAnswer, play, quoted, type Script } from './play.ts';

/**
 * A structure-aware fuzzer: connections with one or several requests that were good once, at a daemon, and what must
 * hold whatever is sent. It knows what must be stored, and asks for it.
 */

export interface FuzzCase {
  readonly requests: readonly { readonly head: FuzzHead; readonly body: FuzzBody }[];
  readonly cuts: readonly number[];
  readonly ending: Script['ending'];
}

const part = fc.double({ min: 0, max: 1, noNaN: true });
export const fuzzCase: fc.Arbitrary<FuzzCase> = fc.record({
  requests: fc.array(fc.record({ head: fuzzHead, body: fuzzBody }), { minLength: 1, maxLength: 4 }),
  cuts: fc.array(part, { maxLength: 4 }),
  ending: fc.oneof(
    { weight: 4, arbitrary: fc.constant<Script['ending']>('end') },
    { weight: 1, arbitrary: fc.record({ how: fc.constantFrom('reset', 'destroy'), at: part }) },
  ),
});

/** What the daemon that is fuzzed is started with. */
export const FUZZ_ARGS = ['--rate-limit', '0', '--body-limit', `${FUZZ_BODY_LIMIT_BYTES}`];

/** Up to this length the bytes of a failure are printed; above it they go to a file. */
const PRINTED_BYTES = 20_000;
/** Cases between two looks at what is stored. */
const LOOK_EVERY = 1_000;

interface Expected {
  readonly rendered: Rendered;
  /** The keys of its events; undefined where it must not be stored. */
  readonly keys: readonly string[] | undefined;
  /** What a plain request with it must be answered; undefined where that is not known. */
  readonly answer: string | undefined;
}

export class Fuzzer {
  readonly #daemon: Daemon;
  /** Of every event that must be stored. */
  readonly #known = new Set<string>();
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
    const expected = fuzzed.requests.map(({ body }, i) => expect(renderBody(body, `${unique}-${i}`)));
    const bytes = Buffer.concat(
      fuzzed.requests.map(({ head, body }, i) =>
        renderRequest(head, this.#daemon.token, body.packing !== 'none', expected[i]!.rendered.sent),
      ),
    );
    try {
      const answers = await play(this.#daemon.port, { ...fuzzed, bytes });
      for (const { status, code } of answers) {
        this.answers[code ?? status] = (this.answers[code ?? status] ?? 0) + 1;
      }
      if (fuzzed.requests.every(({ head }) => isPlain(head)) && fuzzed.ending === 'end')
        check(expected, answers);
      await this.#settle(expected);
      this.#readLog();
      if (this.#cases % LOOK_EVERY === 0) await this.look();
    } catch (error) {
      const end = fuzzed.ending === 'end' ? '' : `, ${JSON.stringify(fuzzed.ending)}`;
      throw new Error(
        `${(error as Error).message}\nof these bytes, cut at ${fuzzed.cuts}${end}:\n${printed(bytes)}`,
      );
    }
  }

  /** @throws {Error} where the daemon does not hold what it must. */
  async look(): Promise<void> {
    const { status, stdout, stderr } = await this.#daemon.command('session', 'list', '--json');
    if (status !== 0) throw new Error(stderr);
    const sessions: { events: number }[] = JSON.parse(stdout);
    const stored = sessions.reduce((sum, { events }) => sum + events, 0);
    if (stored !== this.#known.size)
      throw new Error(`${stored} events are stored, and ${this.#known.size} were.`);
  }

  /** Sent again, plainly: all of its events are there, or none was. */
  async #settle(expected: readonly Expected[]): Promise<void> {
    for (const { rendered, keys } of expected) {
      if (keys === undefined) continue;
      const others = new Set(expected.flatMap((other) => (other.keys === keys ? [] : (other.keys ?? []))));
      const fresh = new Set(keys.filter((key) => !this.#known.has(key))).size;
      const response = await this.#daemon.post(rendered.decoded ?? rendered.sent);
      if (response.status !== 202) throw new Error(`Sent again: ${response.status} ${await response.text()}`);
      const { accepted, duplicates } = (await response.json()) as FuzzAnswer;
      if (accepted + duplicates !== keys.length)
        throw new Error(`Of ${keys.length}: ${accepted} + ${duplicates}.`);
      // Of those that other requests have as well, a part may have come with them.
      if (accepted !== 0 && accepted !== fresh && !keys.some((key) => others.has(key))) {
        throw new Error(`A part of it was stored: ${accepted} of ${fresh} was new.`);
      }
      for (const key of keys) this.#known.add(key);
    }
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

function expect(rendered: Rendered): Expected {
  const { sent, decoded } = rendered;
  if (sent.length > FUZZ_BODY_LIMIT_BYTES) return { rendered, keys: undefined, answer: 'body_too_large' };
  // What is called packed and is not may be stored, where its head has lost that word.
  if (decoded === undefined) return { ...expect({ sent, decoded: sent }), rendered, answer: undefined };
  if (decoded.length > FUZZ_BODY_LIMIT_BYTES) return { rendered, keys: undefined, answer: 'body_too_large' };
  try {
    const events = readBatch(decoded);
    const keys = events.map(({ sessionId, eventId, revision }) =>
      JSON.stringify([sessionId, eventId, revision]),
    );
    return { rendered, keys, answer: '202' };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { rendered, keys: undefined, answer: error.code };
  }
}

/** Plain requests are answered one by one, as their bodies deserve. */
function check(expected: readonly Expected[], answers: readonly FuzzAnswer[]): void {
  const told = answers.map(({ status, code }) => code ?? `${status}`);
  const wanted = expected.map(({ answer }, i) => answer ?? told[i]);
  if (`${told}` !== `${wanted}`) throw new Error(`Answered ${told} instead of ${wanted}.`);
  for (const [i, { keys }] of expected.entries()) {
    const { accepted, duplicates } = answers[i]!;
    if (told[i] === '202' && keys !== undefined && accepted + duplicates !== keys.length) {
      throw new Error(`Of ${keys.length} events: ${accepted} accepted, ${duplicates} duplicates.`);
    }
  }
}

function printed(bytes: Buffer): string {
  if (bytes.length <= PRINTED_BYTES) return quoted(bytes);
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-fuzz-')), 'bytes');
  fs.writeFileSync(file, bytes);
  return `${bytes.length} bytes, in ${file}`;
}
