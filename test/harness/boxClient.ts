import http from 'node:http';

/** Longer than the example's (the vendor's guide, "Sample clients"), and than a virtual machine stands still as a whole. */
const PATIENCE_MS = 120_000;

export interface Answer {
  readonly status: number;
  readonly accepted: number;
  readonly duplicates: number;
}

/**
 * Sends events to a box as a camera does, on connections that it keeps. By node:http and not by fetch, which tells of an answer some
 * turns later: by then the disk may have caught up with what the answer should have waited for.
 */
export class BoxClient {
  readonly #port: number;
  readonly #localAddress: string | undefined;
  readonly #agent: http.Agent;

  /** @param localAddress of its own, as in a venue: the rate limit counts by it. Such a client has one connection. */
  constructor(port: number, localAddress?: string) {
    this.#port = port;
    this.#localAddress = localAddress;
    this.#agent = new http.Agent({
      keepAlive: true,
      maxSockets: localAddress === undefined ? Number.POSITIVE_INFINITY : 1,
    });
  }

  /**
   * @param onAnswer called the moment that an answer's head has arrived.
   * @throws if the connection breaks first.
   */
  post(token: string, body: string, onAnswer: (status: number) => void = () => {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
      const to = { host: '127.0.0.1', port: this.#port, path: '/v1/events', method: 'POST' };
      const from = { agent: this.#agent, localAddress: this.#localAddress, timeout: PATIENCE_MS };
      const request = http.request({ ...to, ...from, headers });
      request.once('error', reject);
      request.once('timeout', () => request.destroy(new Error('no answer')));
      request.once('response', (response) => {
        const status = response.statusCode ?? 0;
        onAnswer(status);
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.once('error', reject);
        response.once('end', () => {
          const { accepted = 0, duplicates = 0 }: Partial<Answer> = JSON.parse(text);
          resolve({ status, accepted, duplicates });
        });
      });
      request.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
