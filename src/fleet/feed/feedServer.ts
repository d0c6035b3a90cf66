import fs from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { membersOf } from '../../base/json.ts';
import { http } from '../../base/nodeHttp.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { answerJson, bodyOf, targetOf } from '../../control/controlServer.ts';
import { bindPrivately, giveToGroup, removeStale } from '../../control/controlSocket.ts';
import { lockShipper } from '../../store/directory/directoryLock.ts';
import { directoryOf } from '../copy/copyFiles.ts';
import { CHUNK_LIMITS } from '../log/chunk.ts';
import { type BoxIdentity, FeedUnavailable, PLAYERS } from './eventFeed.ts';
import type { LocalFeed } from './localFeed.ts';
import { isReport, REPORT_BYTES } from './shipNote.ts';

/**
 * Serves a feed over unix sockets, as HTTP: on `ship.sock` of the data directory, and on one that systemd passes.
 *
 * - `GET /v1/state`: what EventFeed.state gives.
 * - `GET /v1/events?after=SEQ&events=N&players=PLAYERS`: the lines of EventFeed.next; the rest of the piece is in the headers.
 * - `GET /v1/identity`: what EventFeed.identity gives; tokens and erasures only where this process is set to copy into a directory.
 * - `GET /v1/status`: problems and shipping, of `courtd status`.
 * - `POST /v1/report`: takes a ShipReport. `GET /v1/report`: the latest.
 */
export class FeedServer {
  readonly #directory: DataDirectory;
  readonly #feed: LocalFeed;
  readonly #lock: Database;
  readonly #servers: Server[] = [];
  /** The time of the last request of a shipper, by performance.now. */
  askedAt = performance.now();

  private constructor(directory: DataDirectory, feed: LocalFeed, lock: Database) {
    this.#directory = directory;
    this.#feed = feed;
    this.#lock = lock;
  }

  /**
   * The feed has been read from: root is the owner of the directory by now.
   * @throws {OperatorError} where the events of this directory are being shipped already.
   */
  static async start(directory: DataDirectory, feed: LocalFeed, fd?: number): Promise<FeedServer> {
    const server = new FeedServer(directory, feed, lockShipper(directory));
    const file = directory.file('shipSocket');
    try {
      removeStale(file);
      await server.#listen((own) => bindPrivately(file, (place) => own.listen({ path: place })));
      giveToGroup(file);
      if (fd !== undefined) await server.#listen((own) => own.listen({ fd }));
      return server;
    } catch (error) {
      await server.close();
      if (error instanceof OperatorError) throw error;
      throw new OperatorError(`Cannot listen on ${file}: ${(error as Error).message}.`);
    }
  }

  async close(): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    fs.rmSync(this.#directory.file('shipSocket'), { force: true });
    this.#lock.close();
  }

  async #listen(bind: (server: Server) => void): Promise<void> {
    const server = http.createServer((req, res) => void this.#answer(req, res));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).once('listening', resolve);
      bind(server);
    });
    this.#servers.push(server);
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { path, query } = targetOf(req);
    const request = `${req.method} ${path}`;
    // That is a command. A shipper that waits for headquarters only reports: it needs the feed all the same.
    if (request !== 'GET /v1/report') this.askedAt = performance.now();
    try {
      switch (request) {
        case 'GET /v1/report':
          return answerJson(res, this.#feed.latest ?? null);
        case 'GET /v1/state':
          return answerJson(res, await this.#feed.state());
        case 'GET /v1/identity':
          return answerJson(res, await this.#identity());
        case 'GET /v1/status':
          return answerJson(res, (await this.#feed.status()) ?? null);
        case 'GET /v1/events':
          return await this.#answerEvents(res, query);
        case 'POST /v1/report':
          return await this.#takeReport(req, res);
        default:
          return answerJson(res, { error: 'There is nothing here.' }, 404);
      }
    } catch (error) {
      const message = error instanceof OperatorError ? error.message : 'Something went wrong in the feed.';
      answerJson(res, { error: message }, error instanceof FeedUnavailable ? 503 : 500);
    }
  }

  async #identity(): Promise<BoxIdentity> {
    const identity = await this.#feed.identity();
    const isCopied = directoryOf(process.env.COURTD_SHIP_URL ?? '') !== undefined;
    return isCopied ? identity : { ...identity, tokens: null, erasures: [] };
  }

  async #answerEvents(res: ServerResponse, query: URLSearchParams): Promise<void> {
    const [after, events] = [Number(query.get('after')), Number(query.get('events'))];
    if (![after, events].every((one) => Number.isSafeInteger(one) && one >= 0)) {
      return answerJson(res, { error: 'after and events are whole numbers.' }, 400);
    }
    const most = Math.min(events, CHUNK_LIMITS.events);
    const players = PLAYERS.find((one) => one === query.get('players'));
    const { epoch, lines, last, isLast, damage } = await this.#feed.next(after, most, players);
    const body = Buffer.from(lines.join(''));
    res.writeHead(200, {
      'Content-Type': 'application/x-ndjson',
      'Content-Length': body.length,
      'Courtd-Epoch': epoch,
      'Courtd-Last': last,
      'Courtd-Is-Last': String(isLast),
      ...(damage !== undefined && { 'Courtd-Damage': encodeURIComponent(damage.toWellFormed()) }),
    });
    res.end(body);
  }

  async #takeReport(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await bodyOf(req, REPORT_BYTES);
    if (body === undefined) return;
    const report: unknown = membersOf(body);
    if (!isReport(report)) return answerJson(res, { error: 'That is not a report.' }, 400);
    await this.#feed.report(report);
    answerJson(res, {});
  }
}
