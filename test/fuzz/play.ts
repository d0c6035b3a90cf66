import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { PROBLEMS, type ProblemCode } from '../../src/protocol/errors.ts';
import type { Daemon } from '../harness/daemon.ts';
import { type Answer, RawClient } from '../harness/rawClient.ts';
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
const LOOK_MS = 5;
const LATE_MS = 50;

/**
 * Plays it.
 * @throws {Error} if the connection hangs, or what came back is not HTTP with our bodies.
 */
export async function play(daemon: Daemon, { parts, cuts, ending, isReadLate }: Script): Promise<Played> {
  const bytes = Buffer.concat(parts.map((part) => part.bytes));
  const client = await RawClient.connect(
    { teardown: () => {} },
    daemon,
    `127.2.0.${1 + (played++ % ADDRESSES)}`,
  );
  const { socket } = client;
  if (isReadLate) socket.pause();
  const answers: Answer[] = [];
  const reading = (async () => {
    for (;;) {
      const answer = await client.next();
      if (answer.status !== 100) answers.push(answer);
    }
  })().catch(() => {});
  const stop = ending === 'end' ? bytes.length : Math.floor(ending.at * bytes.length);
  const waits = waitsOf(parts);
  const ends = [...cuts.map((cut) => Math.floor(cut * stop)), ...[...waits.keys()].filter((at) => at < stop)];
  let at = 0;
  let isOneByOne = waits.size === parts.length - 1 && ending === 'end';
  for (const end of [...new Set(ends).add(stop)].sort((a, b) => a - b)) {
    if (!socket.writable) break;
    if (end > at) socket.write(bytes.subarray(at, end));
    at = end;
    const count = waits.get(at);
    if (count === undefined) await nextTurn();
    else {
      for (let ms = 0; answers.length < count && socket.writable && ms < ANSWER_MS; ms += LOOK_MS)
        await sleep(LOOK_MS);
      if (answers.length < count) isOneByOne = false;
    }
  }
  if (isReadLate) {
    await sleep(LATE_MS);
    socket.resume();
  }
  if (ending === 'end' || ending.how === 'end') socket.end();
  else socket.write('', () => (ending.how === 'reset' ? socket.resetAndDestroy() : socket.destroy()));
  const timer = setTimeout(() => socket.destroy(Object.assign(new Error(), { code: 'HANGS' })), HANG_MS);
  const code = await client.over;
  clearTimeout(timer);
  await reading;
  if (code === 'HANGS') throw new Error('The connection hangs.');
  const isReset = (ending !== 'end' && ending.how !== 'end') || code !== null;
  if (client.unread !== '' && !isReset) throw new Error(`This is no whole answer: ${quoted(client.unread)}`);
  return { answers: answers.map(fuzzAnswerOf), isReset, isOneByOne };
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

function fuzzAnswerOf({ status, headers, body: text }: Answer): FuzzAnswer {
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
