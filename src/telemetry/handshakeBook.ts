import { SlidingCounts } from './slidingCounts.ts';

/** Why a TLS handshake failed. */
const HANDSHAKE_FAILURES = ['plain_http', 'old_tls', 'certificate', 'disconnected', 'other'] as const;
export type HandshakeFailure = (typeof HANDSHAKE_FAILURES)[number];

/** By OpenSSL's reasons, as Node's codes have them; an alert is what the client says. */
const BY_CODE: readonly (readonly [RegExp, HandshakeFailure])[] = [
  [/HTTPS?_(PROXY_)?REQUEST$/, 'plain_http'],
  [/UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW|ALERT_PROTOCOL_VERSION/, 'old_tls'],
  [/ALERT_.*(CERTIFICATE|UNKNOWN_CA)/, 'certificate'],
];

/** An address whose handshakes fail, and have not succeeded since. */
interface Failing {
  reason: HandshakeFailure;
  times: number;
  readonly minute: SlidingCounts;
  /** By the monotonic clock. */
  lastAt: number;
}

/** Failed TLS handshakes of one address, for the status. */
export interface HandshakeReport {
  readonly client: string;
  /** Of the latest one that had one. */
  readonly reason: HandshakeFailure;
  readonly times: number;
  readonly last_minute: number;
  readonly ago_s: number;
}

/** Addresses that are remembered: a venue has fewer, and strangers evict whoever has not failed for the longest. */
const ADDRESSES_KEPT = 200;
const FORGOTTEN_MS = 3_600_000;

/** Failed TLS handshakes, by address: over when one of that address succeeds, or after an hour without one. */
export class HandshakeBook {
  /** Since the start of the process. These only grow. */
  readonly byReason = Object.fromEntries(HANDSHAKE_FAILURES.map((reason) => [reason, 0])) as Record<
    HandshakeFailure,
    number
  >;
  /** Whoever failed last is the last. */
  readonly #failing = new Map<string, Failing>();

  /** @param code Node's; undefined where the client just closed the connection. @param now of the monotonic clock. */
  failed(client: string, code: string | undefined, now: number): void {
    const reason = reasonOf(code);
    this.byReason[reason]++;
    const failing = this.#failing.get(client) ?? {
      reason,
      times: 0,
      minute: new SlidingCounts(1, 60, 1_000),
      lastAt: now,
    };
    // Whoever goes away without a reason may have given one before.
    if (reason !== 'disconnected') failing.reason = reason;
    failing.times++;
    failing.minute.add(now, 0, 1);
    failing.lastAt = now;
    this.#failing.delete(client);
    const [oldest] = this.#failing.keys();
    if (oldest !== undefined && this.#failing.size >= ADDRESSES_KEPT) this.#failing.delete(oldest);
    this.#failing.set(client, failing);
  }

  succeeded(client: string): void {
    this.#failing.delete(client);
  }

  /** @param now of the monotonic clock. */
  report(now: number): HandshakeReport[] {
    for (const [client, { lastAt }] of this.#failing) {
      if (now - lastAt > FORGOTTEN_MS) this.#failing.delete(client);
    }
    return [...this.#failing].map(([client, { reason, times, minute, lastAt }]) => ({
      client,
      reason,
      times,
      last_minute: minute.sum(now, 0),
      ago_s: Math.round((now - lastAt) / 1_000),
    }));
  }
}

function reasonOf(code: string | undefined): HandshakeFailure {
  if (code === undefined) return 'disconnected';
  return BY_CODE.find(([pattern]) => pattern.test(code))?.[1] ?? 'other';
}
