import type { IncomingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import { http } from './nodeHttp.ts';

/** A whole answer to an HTTP request. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** How long an answer may take to be whole, and what is kept of one that is longer, in UTF-16 code units. */
export interface AnswerLimits {
  readonly wholeMs: number;
  readonly chars: number;
}

/**
 * Sends a request and waits for the whole answer.
 * @param options `timeout` is for the time in which nothing moves.
 * @throws Node's error; one with the code ETIMEDOUT where it takes too long.
 */
export function requestAnswer(
  { protocol, ...options }: RequestOptions,
  body?: Buffer | string,
  { wholeMs, chars }: Partial<AnswerLimits> = {},
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  // Few need TLS, and all would wait for it to be loaded.
  const { request: send } = protocol === 'https:' ? process.getBuiltinModule('node:https') : http;
  const request = send(options, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (piece) => {
      if (text.length < (chars ?? Number.POSITIVE_INFINITY)) text += piece;
    });
    response.once('error', reject);
    response.once('end', () =>
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
    );
  });
  const giveUp = () => request.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' }));
  const timer = wholeMs === undefined ? undefined : setTimeout(giveUp, wholeMs);
  request.once('timeout', giveUp).once('error', reject);
  request.once('close', () => {
    clearTimeout(timer);
    // Where the answer is whole, this comes too late to change anything.
    reject(new Error('the connection ended in the middle of the answer'));
  });
  request.end(body);
  return promise;
}
