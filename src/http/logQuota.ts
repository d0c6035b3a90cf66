import { TRACKED_ADDRESSES } from '../base/limits.ts';

/** Lines a minute about one client's rejected requests and conflicts, in all and of one kind; the rest is only counted. */
const LINES = 20;
const LINES_OF_A_KIND = 3;
/** The counters of clients that never had an event accepted: for about a hundred clients, and for all others together. */
const COUNTS = 200;

/** How many lines of the log each client may cause within a minute. */
export class LogQuota {
  /** Clients that have had events accepted. */
  readonly #known = new Set<string>();
  readonly #counts = new Map<string, number>();

  /**
   * Counts a line.
   * @param kind what went wrong. Each kind has a quota of its own: thirty cameras may share the address of a gateway, and one with an
   * old token must not use up the quota of all.
   * @returns whether the line is within the quota.
   */
  take(client: string, kind: string): boolean {
    const isNamed = this.#known.has(client) || this.#counts.has(client) || this.#counts.size < COUNTS;
    const who = isNamed ? client : 'others';
    const [inAll, ofKind] = [this.#counts.get(who) ?? 0, this.#counts.get(`${who} ${kind}`) ?? 0];
    if (inAll >= LINES || ofKind >= LINES_OF_A_KIND) return false;
    this.#counts.set(who, inAll + 1);
    this.#counts.set(`${who} ${kind}`, ofKind + 1);
    return true;
  }

  /** Remembers that events of this client were accepted. @returns whether they were its first. */
  markKnown(client: string): boolean {
    if (this.#known.has(client)) return false;
    if (this.#known.size >= TRACKED_ADDRESSES) this.#known.clear();
    this.#known.add(client);
    return true;
  }

  /** Begins another minute. */
  reset(): void {
    this.#counts.clear();
  }
}
