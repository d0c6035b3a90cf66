import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { LogFields } from '../protocol/errors.ts';
import type { Counts } from '../store/write/appender.ts';
import type { Refused } from '../telemetry/refusals.ts';
import { LogQuota } from './logQuota.ts';

/** Milliseconds between summaries in the log. */
const SUMMARY_MS = 60_000;
/** Characters of a request id: the first 48 bits of a random UUID. A counter would reveal to a client how many requests there are. */
const REQUEST_ID_CHARS = 13;

/** The facts of one request, for the log and for `courtd rejections`. */
export class RequestInfo {
  /** The client's address. */
  readonly client: string;
  /** Milliseconds of the monotonic clock. */
  readonly startedAt = performance.now();
  /** Source and court of the request's first event, and how many there are, once they have been parsed. */
  camera: LogFields | undefined;
  /** What has been read of its body, decompressed if that was possible. */
  body: Buffer | undefined;
  #id: string | undefined;

  constructor(client: string) {
    this.client = client;
  }

  /** The id that the log and a problem response share. Made on first use: most requests appear in neither. */
  get id(): string {
    this.#id ??= randomUUID().slice(0, REQUEST_ID_CHARS);
    return this.#id;
  }
}

const CONFLICT =
  'events were sent again with different content: the first version is kept; a camera that corrects an event must raise its revision';
const SHARED_ID =
  "two cameras use the same event_id: the first camera's event is kept, the other's is lost; event_ids must be unique " +
  'within the session, across all cameras: use a UUID';

const NONE = { requests: 0, accepted: 0, duplicates: 0, conflicts: 0, slowest_ms: 0 };

/**
 * Logs requests: each one at level debug. At info, the default, it logs a client's first events, rejections, and a summary every
 * SUMMARY_MS: a line for each request would wear out the box's flash. A token is never logged.
 */
export class AccessLog {
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #quota = new LogQuota();
  #sum = { ...NONE };
  readonly #refused: Readonly<Record<string, number>>;
  /** The same, at the last summary. */
  #refusedBefore: Readonly<Record<string, number>>;

  /** @param refused how many requests were refused so far, by code: it is read for each summary. */
  constructor(log: Logger, refused: Readonly<Record<string, number>>) {
    this.#log = log;
    this.#refused = refused;
    this.#refusedBefore = { ...refused };
    this.#timer = setInterval(() => this.writeSummary(), SUMMARY_MS).unref();
  }

  accepted(info: RequestInfo, counts: Counts): void {
    const { accepted, duplicates, conflicts, sharedIds = 0, firstConflict } = counts;
    const ms = this.#count(info);
    this.#sum.accepted += accepted;
    this.#sum.duplicates += duplicates;
    this.#sum.conflicts += conflicts;
    const line = () => ({ request_id: info.id, client: info.client, accepted, duplicates, conflicts, ms });
    if (firstConflict !== undefined) {
      const { sessionId, eventId, source, courtId } = firstConflict;
      const first = { session_id: sessionId, event_id: eventId, source, court_id: courtId };
      const isShared = sharedIds > 0;
      const fields = { ...line(), ...(isShared && { shared_ids: sharedIds }), ...first };
      const kind = `${isShared ? 'shared_ids' : 'conflicts'} ${source}`;
      this.#warnWithinQuota(info.client, kind, fields, isShared ? SHARED_ID : CONFLICT);
    } else if (accepted + duplicates > 0 && this.#quota.markKnown(info.client)) {
      this.#log.info(line(), 'first events from this client');
    } else if (this.#log.isLevelEnabled('debug')) {
      this.#log.debug(line(), 'stored');
    }
  }

  rejected(info: RequestInfo, { id, client, problem, camera }: Refused): void {
    const { code, status, message, logFields } = problem;
    const ms = this.#count(info);
    const { events: _, ...fields } = camera;
    const line = { request_id: id, client, status, code, ...fields, ms };
    const kind = `${code} ${logFields.source ?? logFields.reason ?? ''}`;
    this.#warnWithinQuota(client, kind, line, `refused: ${message}`);
  }

  /** The client disconnected before its request was complete. */
  aborted(info: RequestInfo): void {
    const ms = this.#count(info);
    this.#log.debug({ request_id: info.id, client: info.client, ms }, 'the client disconnected');
  }

  /**
   * @param client its address.
   * @param failure Node's error code; undefined if the client just closed the connection.
   */
  handshakeFailed(client: string, failure: string | undefined): void {
    if (failure === undefined) {
      this.#log.debug(
        { client },
        'the client disconnected during the TLS handshake (does it trust the certificate?)',
      );
    } else {
      this.#warnWithinQuota(client, failure, { client, code: failure }, 'the TLS handshake failed');
    }
  }

  /** Logs what happened since the last summary, if anything did. */
  writeSummary(): void {
    const since = Object.entries(this.#refused).map(
      ([code, count]) => [code, count - this.#refusedBefore[code]!] as const,
    );
    const refused = Object.fromEntries(since.filter(([, count]) => count > 0));
    if (this.#sum.requests > 0) this.#log.info({ ...this.#sum, refused }, 'summary');
    this.#refusedBefore = { ...this.#refused };
    this.#sum = { ...NONE };
    this.#quota.reset();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.writeSummary();
  }

  /** @returns the request's duration in milliseconds, rounded to a tenth. */
  #count(info: RequestInfo): number {
    const ms = Math.round((performance.now() - info.startedAt) * 10) / 10;
    this.#sum.requests++;
    this.#sum.slowest_ms = Math.max(this.#sum.slowest_ms, ms);
    return ms;
  }

  /** Level warn within the client's quota, level debug beyond it. */
  #warnWithinQuota(client: string, kind: string, line: object, message: string): void {
    if (this.#quota.take(client, kind)) this.#log.warn(line, message);
    else this.#log.debug(line, message);
  }
}
