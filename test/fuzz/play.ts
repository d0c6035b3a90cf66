import net from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PROBLEMS, type ProblemCode } from '../../src/protocol/problems.ts';

/** One connection: what is said on it, in which pieces, how it ends; and whether what comes back is what it must be. */

export interface Script {
  readonly bytes: Buffer;
  /** Parts of the length at which it is cut into pieces. */
  readonly cuts: readonly number[];
  /** After the last piece the sender says that it is done; or it goes away at a part of the length. */
  readonly ending: 'end' | { readonly how: 'reset' | 'destroy'; readonly at: number };
}

export interface FuzzAnswer {
  readonly status: number;
  readonly code: string | undefined;
  /** Of a 202. */
  readonly accepted: number;
  readonly duplicates: number;
}

/** No timeout of the server is longer than this. */
const HANG_MS = 20_000;

/**
 * Plays it.
 * @returns the answers.
 * @throws {Error} where the connection hangs, or what came back is not HTTP with our bodies.
 */
export async function play(port: number, script: Script): Promise<FuzzAnswer[]> {
  const { bytes, cuts, ending } = script;
  const socket = net.connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('end', () => socket.end());
  socket.on('error', () => {});
  const over = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const stop = ending === 'end' ? bytes.length : Math.floor(ending.at * bytes.length);
  const ends = [...new Set(cuts.map((cut) => Math.floor(cut * stop)))].sort((a, b) => a - b);
  let at = 0;
  for (const end of [...ends, stop]) {
    if (end > at) socket.write(bytes.subarray(at, end));
    at = end;
    await nextTurn();
  }
  if (ending === 'end') socket.end();
  else socket.write('', () => (ending.how === 'reset' ? socket.resetAndDestroy() : socket.destroy()));
  const timer = setTimeout(() => socket.destroy(new Error('hangs')), HANG_MS);
  const startedAt = performance.now();
  await over;
  clearTimeout(timer);
  if (performance.now() - startedAt >= HANG_MS) throw new Error('The connection hangs.');
  const mayBeCut = ending !== 'end' || socket.errored !== null;
  return answersIn(Buffer.concat(chunks), bytes.includes('HEAD '), mayBeCut);
}

const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) [ -~]+$/;
const HEADER = /^([!#$%&'*+.^_`|~\w-]+): ([\t -~]*)$/;

function answersIn(received: Buffer, hasHead: boolean, mayBeCut: boolean): FuzzAnswer[] {
  const answers: FuzzAnswer[] = [];
  for (let at = 0; at < received.length; ) {
    const headEnd = received.indexOf('\r\n\r\n', at);
    if (headEnd < 0) {
      if (mayBeCut) break;
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
    if (at + length > received.length && mayBeCut) break;
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
