import { once } from 'node:events';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { buffer } from 'node:stream/consumers';
import { scheme } from './transport.ts';

/** Longer than the sample clients wait, and longer than a virtual machine may stop as a whole. */
const PATIENCE_MS = 120_000;

/**
 * Posts events as a camera does, on connections that it keeps. By node:http and not by fetch, which reports an answer some turns
 * later: by then the disk may have caught up with what the answer should have waited for.
 */
export class BoxClient {
  readonly #to: http.RequestOptions;
  readonly #agent: http.Agent;

  constructor(port: number) {
    this.#agent = new (scheme() === 'https' ? https : http).Agent({ keepAlive: true });
    const to = { host: '127.0.0.1', port, path: '/v1/events', method: 'POST' };
    this.#to = { ...to, agent: this.#agent, timeout: PATIENCE_MS };
  }

  /**
   * Posts a body, and again if the daemon was closing the connection that was kept.
   * @param body a value as JSON, or text and bytes as they are.
   * @param onStatus called the moment that an answer's head has arrived.
   * @throws if the connection breaks first.
   */
  async post(
    body: unknown,
    headers: Record<string, string> = {},
    onStatus: (status: number) => void = () => {},
  ): Promise<Response> {
    for (;;) {
      const request = this.#request(body, headers, onStatus);
      try {
        return await answerOf(request);
      } catch (error) {
        // Node's documentation of `request.reusedSocket`.
        if (!request.reusedSocket || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
      }
    }
  }

  /** Posts a body once. */
  postOnce(
    body: unknown,
    headers: Record<string, string> = {},
    onStatus: (status: number) => void = () => {},
  ): Promise<Response> {
    return answerOf(this.#request(body, headers, onStatus));
  }

  #request(
    body: unknown,
    headers: Record<string, string>,
    onStatus: (status: number) => void,
  ): ClientRequest {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const request = (scheme() === 'https' ? https : http).request({
      ...this.#to,
      headers: { 'Content-Type': 'application/json', ...headers },
    });
    request.once('response', ({ statusCode }) => onStatus(statusCode!));
    request.once('timeout', () => request.destroy(new Error('no answer')));
    return request.end(isRaw ? body : JSON.stringify(body));
  }

  /** Closes idle connections: a daemon that stops would wait half a second for a request on them. */
  hangUp(): void {
    for (const sockets of Object.values(this.#agent.freeSockets))
      for (const socket of sockets!) socket.destroy();
  }
}

async function answerOf(request: ClientRequest): Promise<Response> {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const { statusCode: status, headers: answered, socket } = response;
  const bytes = await buffer(response);
  // The next request is on another connection then: there may be a limit to them.
  if (answered.connection === 'close' && !socket.destroyed) await once(socket, 'close');
  return new Response(bytes, { status, headers: answered } as ResponseInit);
}
