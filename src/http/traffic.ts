import type { Logger } from 'pino';
import { RATE_ADDRESSES, REFUSALS_LOGGED, SUMMARY_MS } from '../protocol/limits.ts';
import type { Problem } from '../protocol/problems.ts';
import type { Counts } from '../store/append.ts';

/** Of one request, for its line in the log. */
export interface RequestMark {
  readonly id: string;
  /** The client's address. */
  readonly client: string;
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number;
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

/**
 * What the log says of requests: each one at level debug; at the usual level info a camera's first events, what was
 * refused, and a summary a minute: a line for each request would wear out the flash of the box. Never a token.
 */
export class Traffic {
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #clients = new Set<string>();
  #summary = emptySummary();
  #refusalsLogged = 0;

  constructor(log: Logger) {
    this.#log = log;
    this.#timer = setInterval(() => this.sumUp(), SUMMARY_MS).unref();
  }

  accepted(mark: RequestMark, counts: Counts): void {
    const { accepted, duplicates, conflicts } = counts;
    const summary = this.#summary;
    const ms = this.#count(mark);
    summary.accepted += accepted;
    summary.duplicates += duplicates;
    summary.conflicts += conflicts;
    const line = { request_id: mark.id, client: mark.client, accepted, duplicates, conflicts, ms };
    if (conflicts > 0) {
      this.#logSome(
        line,
        'events came again with other content: the first is kept (did a camera forget to raise revision?)',
      );
    } else if (this.#isNew(mark.client)) {
      this.#log.info(line, 'first events from this client');
    } else {
      this.#log.debug(line, 'stored');
    }
  }

  refused(mark: RequestMark, problem: Problem): void {
    const { code, status } = problem;
    const ms = this.#count(mark);
    this.#summary.refused[code] = (this.#summary.refused[code] ?? 0) + 1;
    const line = { request_id: mark.id, client: mark.client, status, code, ms };
    this.#logSome(line, `refused: ${problem.message}`);
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
      this.#logSome({ client, code: failure }, 'no TLS with this client');
    }
  }

  /** Writes the summary of the time since the last one, if there was anything. */
  sumUp(): void {
    if (this.#summary.requests > 0) this.#log.info(this.#summary, 'summary');
    this.#summary = emptySummary();
    this.#refusalsLogged = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.sumUp();
  }

  /** @returns how long the request took, in milliseconds to a tenth. */
  #count(mark: RequestMark): number {
    const ms = Math.round((performance.now() - mark.startedAt) * 10) / 10;
    this.#summary.requests++;
    this.#summary.slowest_ms = Math.max(this.#summary.slowest_ms, ms);
    return ms;
  }

  #logSome(line: object, message: string): void {
    this.#refusalsLogged++;
    if (this.#refusalsLogged <= REFUSALS_LOGGED) this.#log.warn(line, message);
    else this.#log.debug(line, message);
  }

  #isNew(client: string): boolean {
    if (this.#clients.has(client)) return false;
    if (this.#clients.size >= RATE_ADDRESSES) this.#clients.clear();
    this.#clients.add(client);
    return true;
  }
}
