import https from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { requestAnswer } from '../../base/httpAnswer.ts';
import { http } from '../../base/nodeHttp.ts';
import type { BoxAnswer } from './retryPolicy.ts';

/** courtd answers within 30 s or ends the connection, and lists at most 50 invalid events: a slower or longer answer is not courtd's. */
const LIMITS = { wholeMs: 35_000, chars: 1024 * 1024 } as const;

/** A keep-alive connection to a box, which carries one request at a time. */
export interface BoxConnection {
  /** Sends a request once. Never throws: any failure counts as no complete answer (status 0). */
  post(body: Buffer, signal?: AbortSignal): Promise<BoxAnswer>;
  close(): void;
}

/** @param box its address, such as http://10.0.0.5:4000. */
export function connectionTo(box: URL, token: string): BoxConnection {
  const endpoint = new URL('/v1/events', box);
  const { Agent } = endpoint.protocol === 'https:' ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const target = { ...urlToHttpOptions(endpoint), method: 'POST', agent };
  const own = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const post: BoxConnection['post'] = async (body, signal) => {
    const headers = { ...own, 'Content-Length': body.length };
    try {
      const answer = await requestAnswer({ ...target, headers, ...(signal && { signal }) }, body, LIMITS);
      return { ...answer, retryAfter: answer.headers['retry-after'] ?? '' };
    } catch {
      return { status: 0, retryAfter: '', body: '' };
    }
  };
  return { post, close: () => agent.destroy() };
}
