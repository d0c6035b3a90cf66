import { CLIENT_LOG_LINES, CLIENT_LOG_LINES_OF_A_KIND, RATE_ADDRESSES } from '../base/limits.ts';

/** Clients without a token that are told apart in a minute: with 20 lines each, 0.5 MB of log at most. */
const TALLIED_STRANGERS = 100;
/** Clients that the summary of a minute names. */
const SUMMARY_CLIENTS = 20;

/** What one client did since the last summary, and how many lines the log has taken of it. */
class ClientTally {
  readonly counts = { requests: 0, accepted: 0, duplicates: 0, conflicts: 0, refused: 0 };
  readonly #linesOf = new Map<string, number>();
  #lines = 0;

  /**
   * @param kind of trouble: behind one address there may be a gateway with thirty cameras, and one of them with an old token
   * must not use up the lines of all.
   * @returns whether the log takes a line more.
   */
  mayLog(kind: string): boolean {
    const ofKind = this.#linesOf.get(kind) ?? 0;
    if (this.#lines >= CLIENT_LOG_LINES || ofKind >= CLIENT_LOG_LINES_OF_A_KIND) return false;
    this.#linesOf.set(kind, ofKind + 1);
    this.#lines++;
    return true;
  }

  /** What is worth a look comes first: what was refused or in conflict, then who sends most. */
  isBefore({ counts }: ClientTally): boolean {
    const trouble = this.counts.refused + this.counts.conflicts - counts.refused - counts.conflicts;
    return trouble === 0 ? this.counts.requests > counts.requests : trouble > 0;
  }
}

/** The clients of the last minute, by address. Strangers without a token can be any number: most of them share one tally. */
export class ClientTallies {
  readonly #known = new Set<string>();
  #tallies = new Map<string, ClientTally>();
  #others = new ClientTally();
  #strangers = 0;

  of(client: string): ClientTally {
    const tally = this.#tallies.get(client);
    if (tally !== undefined) return tally;
    if (!this.#known.has(client) && ++this.#strangers > TALLIED_STRANGERS) return this.#others;
    const made = new ClientTally();
    this.#tallies.set(client, made);
    return made;
  }

  /** @returns whether these are the first events of this client. */
  isNew(client: string): boolean {
    if (this.#known.has(client)) return false;
    if (this.#known.size >= RATE_ADDRESSES) this.#known.clear();
    this.#known.add(client);
    return true;
  }

  /** @returns the counts of the clients with most to tell, and of the others together; then all begin anew. */
  sumUp(): Record<string, Partial<ClientTally['counts']>> {
    const sorted = [...this.#tallies].sort(([, a], [, b]) => (a.isBefore(b) ? -1 : b.isBefore(a) ? 1 : 0));
    const others = this.#others;
    for (const [, { counts }] of sorted.splice(SUMMARY_CLIENTS)) {
      for (const name of Object.keys(counts) as (keyof typeof counts)[]) others.counts[name] += counts[name];
    }
    if (others.counts.requests > 0) sorted.push(['others', others]);
    this.#tallies = new Map();
    this.#others = new ClientTally();
    this.#strangers = 0;
    return Object.fromEntries(sorted.map(([client, { counts }]) => [client, withoutZeros(counts)]));
  }
}

function withoutZeros<Counts extends object>(counts: Counts): Partial<Counts> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)) as Partial<Counts>;
}
