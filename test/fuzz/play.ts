import net from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { PROBLEMS, type ProblemCode } from '../../src/protocol/errors.ts';
import type { FuzzCase } from './case.ts';

/** One connection: what is said on it, in which pieces, how it ends; and whether what comes back is what it must be. */

interface Script extends Omit<FuzzCase, 'requests'> {
  readonly parts: readonly Part[];
}

interface Part {
  readonly bytes: Buffer;
  /** It is sent when all parts before it have been answered, or long enough has been waited for that. */
  readonly waits: boolean;
}

export interface Played {
  readonly answers: readonly FuzzAnswer[];
  /** The connection was reset: answers may be missing. */
  readonly isReset: boolean;
  /** Each part was sent after the answer to the one before it had come. */
  readonly isOneByOne: boolean;
}

export interface FuzzAnswer {
  readonly status: number;
  readonly code: string | undefined;
  /** Of a 202. */
  readonly accepted: number;
  readonly duplicates: number;
}

/**
 * No timeout of the server is longer than half of this: that of a whole request is 30 s, and a body that is broken behind an
 * Upgrade waits for it.
 */
const HANG_MS = 60_000;
/** An address with many refusals is not let in for a second: the odd requests have other addresses than those that read what is stored. */
const ADDRESSES = 250;
let played = 0;
/** For an answer that may never come, because of what its request looks like. */
const ANSWER_MS = 150;
const LATE_MS = 50;

/**
 * Plays it.
 * @throws {Error} if the connection hangs, or what came back is not HTTP with our bodies.
 */
export async function play(port: number, script: Script): Promise<Played> {
  const { parts, cuts, ending, isReadLate } = script;
  const bytes = Buffer.concat(parts.map((part) => part.bytes));
  const localAddress = `127.2.0.${1 + (played++ % ADDRESSES)}`;
  const socket = net.connect({ host: '127.0.0.1', port, localAddress, noDelay: true, allowHalfOpen: true });
  const received = new Received(socket);
  if (isReadLate) socket.pause();
  const over = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const stop = ending === 'end' ? bytes.length : Math.floor(ending.at * bytes.length);
  const waits = waitsOf(parts);
  const ends = [...cuts.map((cut) => Math.floor(cut * stop)), ...[...waits.keys()].filter((at) => at < stop)];
  let at = 0;
  let isOneByOne = waits.size === parts.length - 1 && ending === 'end';
  for (const end of [...new Set(ends).add(stop)].sort((a, b) => a - b)) {
    if (!socket.writable) break;
    if (end > at) socket.write(bytes.subarray(at, end));
    at = end;
    if (!waits.has(at)) await nextTurn();
    else if (!(await received.answers(waits.get(at)!, ANSWER_MS))) isOneByOne = false;
  }
  if (isReadLate) {
    await sleep(LATE_MS);
    socket.resume();
  }
  if (ending === 'end' || ending.how === 'end') socket.end();
  else socket.write('', () => (ending.how === 'reset' ? socket.resetAndDestroy() : socket.destroy()));
  const timer = setTimeout(() => socket.destroy(new Error('hangs')), HANG_MS);
  const startedAt = performance.now();
  await over;
  clearTimeout(timer);
  if (performance.now() - startedAt >= HANG_MS) throw new Error('The connection hangs.');
  const isReset = (ending !== 'end' && ending.how !== 'end') || socket.errored !== null;
  return { answers: answersIn(received.bytes, bytes.includes('HEAD '), isReset), isReset, isOneByOne };
}

/** @returns where it waits, and for how many answers. */
function waitsOf(parts: readonly Part[]): Map<number, number> {
  const waits = new Map<number, number>();
  let at = 0;
  for (const [i, { bytes, waits: isWaiting }] of parts.entries()) {
    if (i > 0 && isWaiting) waits.set(at, i);
    at += bytes.length;
  }
  return waits;
}

const STATUS = /HTTP\/1\.1 [2-5]\d\d /g;

/** What comes back. */
class Received {
  readonly #socket: net.Socket;
  readonly #chunks: Buffer[] = [];
  #wake = () => {};

  constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#wake();
    });
    socket.on('end', () => socket.end());
    socket.on('error', () => {});
    socket.on('close', () => this.#wake());
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** @returns whether so many have begun to come, once they have, or no more can come, or the time is over. */
  async answers(count: number, withinMs: number): Promise<boolean> {
    const isThere = () => (this.bytes.toString('latin1').match(STATUS)?.length ?? 0) >= count;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#wake();
    }, withinMs);
    while (!isThere() && !isLate && this.#socket.writable) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    clearTimeout(timer);
    return isThere();
  }
}

const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) [ -~]+$/;
const HEADER = /^([!#$%&'*+.^_`|~\w-]+): ([\t -~]*)$/;

function answersIn(received: Buffer, hasHead: boolean, isReset: boolean): FuzzAnswer[] {
  const answers: FuzzAnswer[] = [];
  for (let at = 0; at < received.length; ) {
    const headEnd = received.indexOf('\r\n\r\n', at);
    if (headEnd < 0) {
      if (isReset) break;
      throw new Error(`This is not HTTP: ${quoted(received.subarray(at))}`);
    }
    const [line = '', ...lines] = received.toString('latin1', at, headEnd).split('\r\n');
    const status = Number(STATUS_LINE.exec(line)?.[1]);
    if (Number.isNaN(status)) throw new Error(`This is no status line: ${quoted(line)}`);
    at = headEnd + 4;
    if (status === 100) continue;
    const headers = headersOf(lines);
    const length = Number(headers.get('content-length') ?? Number.NaN);
    if (!(length > 0)) throw new Error(`Its length is not told: ${quoted(lines.join(', '))}`);
    const isBodiless =
      hasHead && (at === received.length || received.toString('latin1', at, at + 5) === 'HTTP/');
    if (isBodiless) {
      answers.push({ status, code: undefined, accepted: 0, duplicates: 0 });
      continue;
    }
    if (at + length > received.length && isReset) break;
    answers.push(answerOf(status, headers, received.toString('utf8', at, at + length)));
    at += length;
  }
  return answers;
}

function headersOf(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined || headers.has(name.toLowerCase()))
      throw new Error(`A bad header: ${quoted(line)}`);
    headers.set(name.toLowerCase(), value!);
  }
  return headers;
}

function answerOf(status: number, headers: Map<string, string>, text: string): FuzzAnswer {
  const body = JSON.parse(text);
  const type = headers.get('content-type');
  if (status === 202) {
    const { accepted, duplicates } = body;
    const isOurs =
      text === `{"accepted":${accepted},"duplicates":${duplicates}}` && type === 'application/json';
    if (!isOurs || accepted < 0 || duplicates < 0) throw new Error(`This is not a 202 of ours: ${text}`);
    return { status, code: undefined, accepted, duplicates };
  }
  const code = body.code as ProblemCode;
  const isOurs = PROBLEMS[code]?.status === status && body.status === status;
  if (!isOurs || type !== 'application/problem+json')
    throw new Error(`This is not a refusal of ours: ${status} ${text}`);
  if ((status === 503 || status === 429) && !headers.has('retry-after'))
    throw new Error(`No Retry-After: ${text}`);
  // A fault of ours; and nothing fails here that would be a reason for another 5xx than this.
  if (status >= 500 && code !== 'overloaded') throw new Error(`Nothing has failed, yet: ${status} ${text}`);
  return { status, code, accepted: 0, duplicates: 0 };
}

/** Bytes as a text that JavaScript reads back. */
export function quoted(bytes: Buffer | string): string {
  return JSON.stringify(typeof bytes === 'string' ? bytes : bytes.toString('latin1'));
}
