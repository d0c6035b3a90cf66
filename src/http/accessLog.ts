import type { Logger } from 'pino';
import { SUMMARY_MS } from '../base/limits.ts';
import type { LoggedOnly, Problem } from '../protocol/errors.ts';
import type { Counts } from '../store/write/appendEvents.ts';
import { ClientTallies } from './clientTallies.ts';

/** Of one request, for its line in the log. */
export interface RequestMark {
  readonly id: string;
  /** The client's address. */
  readonly client: string;
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number;
  /** Which camera it is, once its events have been read: those of the first. */
  sender?: LoggedOnly;
}

function emptySummary() {
  return {
    requests: 0,
    accepted: 0,
    duplicates: 0,
    conflicts: 0,
    refused: {} as Record<string, number>,
    slowest_ms: 0,
  };
}

const CONFLICT =
  'events came again with other content: the first is kept; a camera that corrects an event must raise its revision';
const SHARED_ID =
  'two cameras share an event_id: the event of the first is kept, that of the other is lost; make event_ids unique ' +
  'within the session, over all cameras: use a UUID';

/**
 * What the log says of requests: each one at level debug; at the usual level info a camera's first events, what was
 * refused, and a summary a minute: a line for each request would wear out the flash of the box. Never a token.
 */
export class AccessLog {
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #clients = new ClientTallies();
  #summary = emptySummary();

  constructor(log: Logger) {
    this.#log = log;
    this.#timer = setInterval(() => this.sumUp(), SUMMARY_MS).unref();
  }

  accepted(mark: RequestMark, counts: Counts): void {
    const { accepted, duplicates, conflicts, sharedIds = 0, firstConflict } = counts;
    const ms = this.#count(mark);
    for (const sum of [this.#summary, this.#clients.of(mark.client).counts]) {
      sum.accepted += accepted;
      sum.duplicates += duplicates;
      sum.conflicts += conflicts;
    }
    const line = { request_id: mark.id, client: mark.client, accepted, duplicates, conflicts, ms };
    if (firstConflict !== undefined) {
      const { sessionId, eventId, source, courtId } = firstConflict;
      const first = { session_id: sessionId, event_id: eventId, source, court_id: courtId };
      const [kind, more, message] =
        sharedIds > 0 ? ['shared_ids', { shared_ids: sharedIds }, SHARED_ID] : ['conflicts', {}, CONFLICT];
      this.#logSome(mark.client, `${kind} ${source}`, { ...line, ...more, ...first }, message);
    } else if (this.#clients.isNew(mark.client)) {
      this.#log.info(line, 'first events from this client');
    } else {
      this.#log.debug(line, 'stored');
    }
  }

  refused(mark: RequestMark, problem: Problem): void {
    const { code, status, logged } = problem;
    const ms = this.#count(mark);
    this.#summary.refused[code] = (this.#summary.refused[code] ?? 0) + 1;
    this.#clients.of(mark.client).counts.refused++;
    const line = { request_id: mark.id, client: mark.client, status, code, ...mark.sender, ...logged, ms };
    const kind = `${code} ${logged.source ?? logged.reason ?? ''}`;
    this.#logSome(mark.client, kind, line, `refused: ${problem.message}`);
  }

  /** The sender went away before its request was complete. */
  gone(mark: RequestMark): void {
    const ms = this.#count(mark);
    this.#log.debug({ request_id: mark.id, client: mark.client, ms }, 'the client went away');
  }

  /** TLS did not come about: the client speaks something else, does not like the certificate, or went away. */
  handshakeFailed({ client }: RequestMark, failure: string | undefined): void {
    if (failure === undefined) {
      this.#log.debug(
        { client },
        'the client went away before TLS was set up (does it trust the certificate?)',
      );
    } else {
      this.#logSome(client, failure, { client, code: failure }, 'no TLS with this client');
    }
  }

  /** Writes the summary of the time since the last one, if there was anything. */
  sumUp(): void {
    const clients = this.#clients.sumUp();
    if (this.#summary.requests > 0) this.#log.info({ ...this.#summary, clients }, 'summary');
    this.#summary = emptySummary();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.sumUp();
  }

  /** @returns how long the request took, in milliseconds to a tenth. */
  #count(mark: RequestMark): number {
    const ms = Math.round((performance.now() - mark.startedAt) * 10) / 10;
    this.#summary.requests++;
    this.#clients.of(mark.client).counts.requests++;
    this.#summary.slowest_ms = Math.max(this.#summary.slowest_ms, ms);
    return ms;
  }

  /** As a warning while the client has lines left of this kind. */
  #logSome(client: string, kind: string, line: object, message: string): void {
    if (this.#clients.of(client).mayLog(kind)) this.#log.warn(line, message);
    else this.#log.debug(line, message);
  }
}
