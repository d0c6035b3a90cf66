import type { Agent } from 'node:http';
import https from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { requestAnswer } from '../../base/httpAnswer.ts';
import { http } from '../../base/nodeHttp.ts';
import type { BoxAnswer } from './retryPolicy.ts';

/** courtd answers within 30 s or ends the connection, and lists at most 50 invalid events: a slower or longer answer is not courtd's. */
const LIMITS = { wholeMs: 35_000, chars: 1024 * 1024 } as const;
const LOST: BoxAnswer = { status: 0, retryAfter: '', body: '' };

/** A keep-alive connection to a box, which carries one request at a time. */
export class BoxConnection {
  readonly #agent: Agent;
  readonly #target: object;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param box its address, such as http://10.0.0.5:4000. */
  constructor(box: URL, token: string) {
    const endpoint = new URL('/v1/events', box);
    const { Agent: KeptConnections } = endpoint.protocol === 'https:' ? https : http;
    this.#agent = new KeptConnections({ keepAlive: true, maxSockets: 1 });
    this.#target = urlToHttpOptions(endpoint);
    this.#headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  }

  /** Sends a request once. Never throws: any failure counts as no complete answer (status 0). */
  async post(body: Buffer, signal?: AbortSignal): Promise<BoxAnswer> {
    const options = {
      ...this.#target,
      method: 'POST',
      agent: this.#agent,
      headers: { ...this.#headers, 'Content-Length': body.length },
      ...(signal && { signal }),
    };
    try {
      const { status, headers, body: text } = await requestAnswer(options, body, LIMITS);
      return { status, retryAfter: headers['retry-after'] ?? '', body: text };
    } catch {
      return LOST;
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}
