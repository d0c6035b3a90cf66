import http from 'node:http';
import {
  type BoxStatus,
  type EventFeed,
  FeedAway,
  type LogState,
  type Piece,
  type PieceLimits,
} from './eventFeed.ts';
import { shipSocket } from './feedServer.ts';
import { isReport, type ShipReport } from './shipNote.ts';

/** Longer than the feed waits for a database that is locked. */
const FEED_MS = 30_000;
/** A person waits for the answer. */
const REPORT_MS = 2_000;

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/** The feed of another process, over its socket. */
export class FeedClient implements EventFeed {
  readonly #socket: string;
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 2 });

  constructor(socket: string) {
    this.#socket = socket;
  }

  async state(): Promise<LogState> {
    return JSON.parse((await this.#ask('/v1/state')).body);
  }

  async next(after: number, { events, bytes }: PieceLimits): Promise<Piece> {
    const { headers, body } = await this.#ask(`/v1/events?after=${after}&events=${events}&bytes=${bytes}`);
    return {
      epoch: String(headers['courtd-epoch']),
      lines: body
        .split('\n')
        .slice(0, -1)
        .map((line) => `${line}\n`),
      last: Number(headers['courtd-last']),
      isLast: headers['courtd-is-last'] === 'true',
    };
  }

  async report(report: ShipReport): Promise<void> {
    await this.#ask('/v1/report', JSON.stringify(report)).catch(() => {});
  }

  async status(): Promise<BoxStatus | undefined> {
    const answer = await this.#ask('/v1/status').catch(() => undefined);
    return answer === undefined ? undefined : (JSON.parse(answer.body) ?? undefined);
  }

  async close(): Promise<void> {
    this.#agent.destroy();
  }

  async #ask(path: string, body?: string): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const method = body === undefined ? 'GET' : 'POST';
    const options = { socketPath: this.#socket, path, method, agent: this.#agent, timeout: FEED_MS };
    exchange(options, body, resolve, (error) =>
      reject(new FeedAway(`The feed behind ${this.#socket} does not answer: ${error.message}.`)),
    );
    const answer = await promise;
    if (answer.status === 200) return answer;
    throw new FeedAway(errorOf(answer));
  }
}

/** @returns the latest report of the shipper of a data directory, or of its feed; undefined where none is running. */
export async function askReport(directory: string): Promise<ShipReport | undefined> {
  const answer = await new Promise<Answer | undefined>((resolve) => {
    const options = {
      socketPath: shipSocket(directory),
      path: '/v1/report',
      agent: false,
      timeout: REPORT_MS,
    };
    exchange(options, undefined, resolve, () => resolve(undefined));
  });
  if (answer?.status !== 200) return undefined;
  const report: unknown = JSON.parse(answer.body);
  return isReport(report) ? report : undefined;
}

function exchange(
  options: http.RequestOptions,
  body: string | undefined,
  resolve: (answer: Answer) => void,
  reject: (error: Error) => void,
): void {
  const request = http.request(options, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk) => {
      text += chunk;
    });
    response.once('error', reject);
    response.once('end', () =>
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
    );
  });
  request.once('timeout', () => request.destroy(new Error('no answer in time')));
  request.once('error', reject);
  request.end(body);
}

function errorOf({ status, body }: Answer): string {
  try {
    return JSON.parse(body).error;
  } catch {
    return `The feed answers ${status}.`;
  }
}
