import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { LogFields } from '../protocol/errors.ts';
import type { Refused } from '../store/refused/refusedRequests.ts';
import type { Counts } from '../store/write/appender.ts';
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

  /** The id that the log and a problem response share: made on first use, since most requests appear in neither. */
  get id(): string {
    this.#id ??= randomUUID().slice(0, REQUEST_ID_CHARS);
    return this.#id;
  }
}

const LEFT_HANDSHAKE = 'the client disconnected during the TLS handshake (does it trust the certificate?)';
const CONFLICT =
  'events were sent again with different content: the first version is kept; a camera that corrects an event must raise its revision';
const SHARED_ID =
  "two cameras use the same event_id: the first camera's event is kept, the other's is lost; event_ids must be unique " +
  'within the session, across all cameras: use a UUID';

/** @returns the numbers of a summary that begins; those of `refused` are by code. */
function newSum() {
  const refused: Record<string, number> = {};
  return { requests: 0, accepted: 0, duplicates: 0, conflicts: 0, slowest_ms: 0, refused };
}

/**
 * Logs requests: each one at level debug. At info, the default, it logs a client's first events, rejections, and a summary every
 * SUMMARY_MS: a line for each request would wear out the box's flash. A token is never logged.
 */
export class AccessLog {
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #quota = new LogQuota();
  #sum = newSum();

  constructor(log: Logger) {
    this.#log = log;
    this.#timer = setInterval(() => this.writeSummary(), SUMMARY_MS).unref();
  }

  accepted(info: RequestInfo, { accepted, duplicates, conflicts, copies }: Counts): void {
    const ms = this.#count(info);
    this.#sum.accepted += accepted;
    this.#sum.duplicates += duplicates;
    this.#sum.conflicts += conflicts;
    const line = () => ({ request_id: info.id, client: info.client, accepted, duplicates, conflicts, ms });
    const sharing = copies?.filter(({ isShared }) => isShared) ?? [];
    const first = sharing[0] ?? copies?.find(({ isConflict }) => isConflict);
    if (first !== undefined) {
      const { sessionId: session_id, eventId: event_id, source, courtId: court_id } = first.event;
      const shared = sharing.length > 0 ? { shared_ids: sharing.length } : undefined;
      const fields = { ...line(), ...shared, session_id, event_id, source, court_id };
      const kind = `${shared ? 'shared_ids' : 'conflicts'} ${source}`;
      this.#warnWithinQuota(info.client, kind, fields, shared ? SHARED_ID : CONFLICT);
    } else if (accepted + duplicates > 0 && this.#quota.markKnown(info.client)) {
      this.#log.info(line(), 'first events from this client');
    } else if (this.#log.isLevelEnabled('debug')) {
      this.#log.debug(line(), 'stored');
    }
  }

  rejected(info: RequestInfo, refused: Refused): void {
    const ms = this.#count(info);
    const { id: request_id, events: _, ...fields } = refused;
    const { client, code, source, reason } = fields;
    this.#sum.refused[code] = (this.#sum.refused[code] ?? 0) + 1;
    const kind = `${code} ${source ?? reason ?? ''}`;
    const line = { request_id, ...fields, ms };
    this.#warnWithinQuota(client, kind, line, 'rejected');
  }

  /** The client disconnected before its request was complete. */
  aborted(info: RequestInfo): void {
    const line = { request_id: info.id, client: info.client, ms: this.#count(info) };
    this.#log.debug(line, 'the client disconnected');
  }

  /** @param code Node's error code; undefined if the client just closed the connection. */
  handshakeFailed(client: string, code: string | undefined): void {
    if (code !== undefined) this.#warnWithinQuota(client, code, { client, code }, 'the TLS handshake failed');
    else this.#log.debug({ client }, LEFT_HANDSHAKE);
  }

  /** Logs what happened since the last summary, if anything did. */
  writeSummary(): void {
    if (this.#sum.requests > 0) this.#log.info(this.#sum, 'summary');
    this.#sum = newSum();
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
