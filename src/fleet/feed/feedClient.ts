import type { DataDirectory } from '../../base/dataDirectory.ts';
import { type HttpAnswer, requestAnswer } from '../../base/httpAnswer.ts';
import { membersOf } from '../../base/json.ts';
import { http } from '../../base/nodeHttp.ts';
import { linesIn } from '../log/chunk.ts';
import {
  type BoxIdentity,
  type BoxStatus,
  type EventFeed,
  FeedUnavailable,
  type LogState,
  type Piece,
  type Players,
} from './eventFeed.ts';
import { boundedReport, isReport, type ShipReport } from './shipNote.ts';

/** Longer than the feed waits for a database that is locked. */
const FEED_MS = 30_000;
/** A person waits for the answer, and it is read by root. */
const REPORT_MS = 2_000;
const REPORT_LIMITS = { wholeMs: 2 * REPORT_MS, chars: 256 * 1024 } as const;

/** The feed of another process, over its socket. */
export class FeedClient implements EventFeed {
  readonly #socket: string;
  readonly #players: Players;
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 2 });

  constructor(socket: string, players: Players = 'as-sent') {
    this.#socket = socket;
    this.#players = players;
  }

  async state(): Promise<LogState> {
    return JSON.parse((await this.#ask('/v1/state')).body);
  }

  async next(after: number, most: number): Promise<Piece> {
    const { headers, body } = await this.#ask(
      `/v1/events?after=${after}&events=${most}&players=${this.#players}`,
    );
    const { 'courtd-damage': damage } = headers;
    return {
      epoch: String(headers['courtd-epoch']),
      lines: linesIn(body),
      last: Number(headers['courtd-last']),
      isLast: headers['courtd-is-last'] === 'true',
      ...(damage !== undefined && { damage: decodeURIComponent(`${damage}`) }),
    };
  }

  async identity(): Promise<BoxIdentity> {
    return JSON.parse((await this.#ask('/v1/identity')).body);
  }

  async report(report: ShipReport): Promise<void> {
    await this.#ask('/v1/report', JSON.stringify(boundedReport(report))).catch(() => {});
  }

  async status(): Promise<BoxStatus | undefined> {
    const answer = await this.#ask('/v1/status').catch(() => undefined);
    return answer === undefined ? undefined : (JSON.parse(answer.body) ?? undefined);
  }

  async close(): Promise<void> {
    this.#agent.destroy();
  }

  async #ask(path: string, body?: string): Promise<HttpAnswer> {
    const method = body === undefined ? 'GET' : 'POST';
    const options = { socketPath: this.#socket, path, method, agent: this.#agent, timeout: FEED_MS };
    const answer = await requestAnswer(options, body).catch((error) => {
      throw new FeedUnavailable(`The feed behind ${this.#socket} does not answer: ${error.message}.`);
    });
    if (answer.status === 200) return answer;
    throw new FeedUnavailable(`${membersOf(answer.body).error ?? `The feed answers ${answer.status}.`}`);
  }
}

/** @returns the latest report of the shipper of a data directory, or of its feed; undefined where none is running. */
export async function askReport(directory: DataDirectory): Promise<ShipReport | undefined> {
  const options = {
    socketPath: directory.file('shipSocket'),
    path: '/v1/report',
    agent: false,
    timeout: REPORT_MS,
  };
  const answer = await requestAnswer(options, undefined, REPORT_LIMITS).catch(() => undefined);
  if (answer?.status !== 200) return undefined;
  const report: unknown = membersOf(answer.body);
  return isReport(report) ? report : undefined;
}
