import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
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
 * @param limits `wholeMs` bounds the time until the answer is complete; of a body, `chars` UTF-16 code units are read.
 * @throws Node's error; one with the code ETIMEDOUT if it takes too long.
 */
export async function requestAnswer(
  { protocol, ...options }: RequestOptions,
  body?: Buffer | string,
  { wholeMs = 2 ** 31 - 1, chars = Number.POSITIVE_INFINITY } = {},
): Promise<HttpAnswer> {
  // Loaded on use: few callers need TLS.
  const { request: send } = protocol === 'https:' ? process.getBuiltinModule('node:https') : http;
  const request = send(options);
  const giveUp = () => request.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' }));
  const timer = setTimeout(giveUp, wholeMs);
  // Once the answer has begun, its stream has each error, too. After a 101 there is neither an answer nor an error.
  request
    .on('error', () => {})
    .on('timeout', giveUp)
    .on('close', () => request.emit('error', new Error('the connection ended without an answer')))
    .end(body);
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    let text = '';
    for await (const piece of response.setEncoding('utf8')) {
      text += piece;
      if (text.length >= chars) break;
    }
    return { status: response.statusCode ?? 0, headers: response.headers, body: text.slice(0, chars) };
  } finally {
    clearTimeout(timer);
  }
}
