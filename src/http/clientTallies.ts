import { TRACKED_ADDRESSES } from '../base/limits.ts';

/** Log lines a minute about one client's rejected requests and conflicts, in all and of one kind; the rest is only counted. */
const CLIENT_LOG_LINES = 20;
const CLIENT_LOG_LINES_OF_A_KIND = 3;
/** Clients that never had an event accepted and are counted separately within a minute: at 20 lines each, 0.5 MB of log at most. */
const UNKNOWN_CLIENTS = 100;
/** Clients that the summary lists by address. */
const SUMMARY_CLIENTS = 20;

const NONE = { requests: 0, accepted: 0, duplicates: 0, conflicts: 0, refused: 0 };
type Tally = typeof NONE;

/** What one client did since the last summary, and how many log lines it has caused. */
class ClientTally {
  readonly counts = { ...NONE };
  readonly #linesOf = new Map<string, number>();
  #lines = 0;

  /**
   * Counts a log line against the client's quota.
   * @param kind what went wrong. Each kind has a quota of its own: thirty cameras may share the address of a gateway, and one with an
   * old token must not use up the quota of all.
   * @returns whether the line is within the quota.
   */
  takeLine(kind: string): boolean {
    const ofKind = this.#linesOf.get(kind) ?? 0;
    if (this.#lines >= CLIENT_LOG_LINES || ofKind >= CLIENT_LOG_LINES_OF_A_KIND) return false;
    this.#linesOf.set(kind, ofKind + 1);
    this.#lines++;
    return true;
  }

  /** Most rejections and conflicts first, then most requests. */
  compare({ counts }: ClientTally): number {
    const wrong = counts.refused + counts.conflicts - this.counts.refused - this.counts.conflicts;
    return wrong === 0 ? counts.requests - this.counts.requests : wrong;
  }
}

/** Per-client counts since the last summary, by address. Their number is bounded: most unknown clients share one tally. */
export class ClientTallies {
  /** Clients that have had events accepted. */
  readonly #known = new Set<string>();
  #tallies = new Map<string, ClientTally>();
  #others = new ClientTally();
  #unknown = 0;

  of(client: string): ClientTally {
    const tally = this.#tallies.get(client);
    if (tally !== undefined) return tally;
    if (!this.#known.has(client) && ++this.#unknown > UNKNOWN_CLIENTS) return this.#others;
    const made = new ClientTally();
    this.#tallies.set(client, made);
    return made;
  }

  /** Remembers that events of this client were accepted. @returns whether they were its first. */
  markKnown(client: string): boolean {
    if (this.#known.has(client)) return false;
    if (this.#known.size >= TRACKED_ADDRESSES) this.#known.clear();
    this.#known.add(client);
    return true;
  }

  /**
   * Resets all counts and quotas.
   * @returns the counts of all clients together, and the non-zero ones by address: most rejections and conflicts first, the rest
   * summed up as `others`.
   */
  flush(): { all: Tally; clients: Record<string, Partial<Tally>> } {
    const sorted = [...this.#tallies].sort(([, a], [, b]) => a.compare(b));
    const others = this.#others;
    for (const [, tally] of sorted.splice(SUMMARY_CLIENTS)) add(others.counts, tally.counts);
    if (others.counts.requests > 0) sorted.push(['others', others]);
    const all = { ...NONE };
    for (const [, tally] of sorted) add(all, tally.counts);
    this.#tallies = new Map();
    this.#others = new ClientTally();
    this.#unknown = 0;
    const clients = Object.fromEntries(sorted.map(([client, { counts }]) => [client, withoutZeros(counts)]));
    return { all, clients };
  }
}

function add(sum: Tally, counts: Tally): void {
  for (const name of Object.keys(sum) as (keyof Tally)[]) sum[name] += counts[name];
}

function withoutZeros(counts: Tally): Partial<Tally> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}
