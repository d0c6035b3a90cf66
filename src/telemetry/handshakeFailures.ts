import { TRACKED_ADDRESSES } from '../base/limits.ts';
import { HOUR_MS } from '../base/units.ts';

/** Failed TLS handshakes of one address that has not succeeded since. */
export interface HandshakeReport {
  readonly client: string;
  readonly times: number;
  /** Node's code of the latest failure that had one; null if the client just closed the connection. */
  readonly reason: string | null;
  readonly ago_s: number;
}

/** Failed TLS handshakes by address, until one of that address succeeds or an hour has passed without one. */
export class HandshakeFailures {
  /** Since the start of the process. */
  count = 0;
  /** The address that failed last is the last. */
  readonly #failing = new Map<string, { times: number; reason: string | null; lastAt: number }>();

  /** @param code Node's; undefined if the client just closed the connection. @param now of the monotonic clock. */
  failed(client: string, code: string | undefined, now: number): void {
    this.count++;
    const { times = 0, reason = null } = this.#failing.get(client) ?? {};
    this.#failing.delete(client);
    const [oldest] = this.#failing.keys();
    if (oldest !== undefined && this.#failing.size >= TRACKED_ADDRESSES) this.#failing.delete(oldest);
    this.#failing.set(client, { times: times + 1, reason: code ?? reason, lastAt: now });
  }

  succeeded(client: string): void {
    this.#failing.delete(client);
  }

  /** @param now of the monotonic clock. */
  report(now: number): HandshakeReport[] {
    for (const [client, { lastAt }] of this.#failing) {
      if (now - lastAt > HOUR_MS) this.#failing.delete(client);
    }
    return [...this.#failing].map(([client, { times, reason, lastAt }]) => ({
      client,
      times,
      reason,
      ago_s: Math.round((now - lastAt) / 1_000),
    }));
  }
}
