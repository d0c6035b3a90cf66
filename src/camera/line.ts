import http from 'node:http';
import https from 'node:https';
import type { Answer } from './answer.ts';

/** How long an answer may take: a box answers within 30 s, or ends the connection. */
const ANSWER_MS = 35_000;
/** An answer of courtd names at most 50 invalid events; a longer one is not courtd's. */
const ANSWER_BYTES = 1024 * 1024;
const LOST: Answer = { status: 0, retryAfter: '', body: '' };

/** One kept connection to a box: a camera sends one request at a time over it. */
export class Line {
  readonly #agent: http.Agent;
  readonly #endpoint: URL;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param box where it is, such as http://10.0.0.5:4000. */
  constructor(box: URL, token: string) {
    this.#endpoint = new URL('/v1/events', box);
    const { Agent } = this.#endpoint.protocol === 'https:' ? https : http;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1 });
    this.#headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  }

  /** One try. Never throws: any failure counts as no complete answer. */
  post(body: Buffer, signal?: AbortSignal): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const { request } = this.#endpoint.protocol === 'https:' ? https : http;
    const req = request(this.#endpoint, {
      method: 'POST',
      agent: this.#agent,
      headers: { ...this.#headers, 'Content-Length': body.length },
      ...(signal && { signal }),
    });
    const giveUp = setTimeout(() => req.destroy(), ANSWER_MS);
    const settle = (answer: Answer) => {
      clearTimeout(giveUp);
      resolve(answer);
    };
    req.on('error', () => settle(LOST));
    req.on('close', () => settle(LOST));
    req.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES) req.destroy();
        else chunks.push(chunk);
      });
      response.on('error', () => settle(LOST));
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response;
        const retryAfter = headers['retry-after'] ?? '';
        settle({ status, retryAfter, body: Buffer.concat(chunks).toString() });
      });
    });
    req.end(body);
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }
}
