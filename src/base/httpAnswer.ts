import type { IncomingHttpHeaders } from 'node:http';
import type { RequestOptions } from 'node:https';
import { http } from './nodeHttp.ts';

/** A whole answer to an HTTP request. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/**
 * Sends a request and waits for the whole answer.
 * @param options `timeout` bounds the time without any traffic.
 * @param limits `wholeMs` bounds the time until the answer is complete; of a body of more than `chars` UTF-16 code units the rest
 * is not read.
 * @throws Node's error; one with the code ETIMEDOUT if it takes too long.
 */
export function requestAnswer(
  { protocol, ...options }: RequestOptions,
  body?: Buffer | string,
  { wholeMs, chars = Number.POSITIVE_INFINITY }: { readonly wholeMs?: number; readonly chars?: number } = {},
): Promise<HttpAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  // Loaded on use: few callers need TLS.
  const { request: send } = protocol === 'https:' ? process.getBuiltinModule('node:https') : http;
  const request = send(options, (response) => {
    let text = '';
    response.setEncoding('utf8');
    const done = () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
    response.on('data', (piece) => {
      text += piece;
      if (text.length < chars) return;
      text = text.slice(0, chars);
      done();
      request.destroy();
    });
    response.once('error', reject);
    response.once('end', done);
  });
  const giveUp = () => request.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' }));
  const timer = wholeMs === undefined ? undefined : setTimeout(giveUp, wholeMs);
  request.once('timeout', giveUp).once('error', reject);
  request.once('close', () => {
    clearTimeout(timer);
    // No effect if the answer is complete.
    reject(new Error('the connection ended in the middle of the answer'));
  });
  request.end(body);
  return promise;
}
