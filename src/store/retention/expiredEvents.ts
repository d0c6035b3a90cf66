import type { Database, Statement } from 'better-sqlite3';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { type Age, expiredAmong, isPlausible } from './ageRule.ts';
import { READ_ROWS } from './pacedSteps.ts';

/** Events whose earliest time of receipt one query determines: half a millisecond. */
const SUMMARY_ROWS = 4_000;

/** Which events a prune deletes. */
export interface PruneSelection extends Age {
  /** Only events of this type. */
  readonly type?: string;
  /** Which events are kept for longer. */
  readonly hold?: ShipHold;
}

/** Events that headquarters does not have yet are kept for a while. */
interface ShipHold {
  /** Headquarters has every event up to this seq. */
  readonly afterSeq: number;
  /** Later events are kept if they were received at this time or later, milliseconds since 1970-01-01T00:00:00Z. */
  readonly beforeMs: number;
}

/** An event to delete. */
interface ExpiredEvent {
  readonly seq: number;
  readonly session: number;
}

interface AgedEvent extends ExpiredEvent {
  readonly receivedMs: number;
  readonly origin: number;
}

interface Summary {
  readonly events: number;
  readonly lastSeq: number | null;
  readonly earliestMs: number | null;
}

/**
 * Finds the events to delete (ageRule.ts), in order of arrival, each revision by its own age. Every event is considered, since the
 * times of a range's ends say nothing about those between; most ranges cost only a `min()`.
 */
export class ExpiredEvents {
  readonly #selection: PruneSelection;
  readonly #origins: ReadonlySet<number> | undefined;
  readonly #summarize: Statement<[number], Summary>;
  readonly #read: Statement<[number, number], AgedEvent>;
  readonly #selectNextPlausible: Statement<[number, number, number], Pick<AgedEvent, 'seq' | 'receivedMs'>>;
  /** The first plausible time after every event from `after` up to `until`. */
  #nextPlausibleTime = { after: 0, until: 0, ms: undefined as number | undefined };
  /** How many events have been considered. */
  events = 0;
  /** How many old events are kept because they are not shipped. */
  held = 0;

  constructor(db: Database, selection: PruneSelection) {
    this.#selection = selection;
    const originsOf = db.prepare<[string], number>('SELECT id FROM origin WHERE type = ?').pluck();
    this.#origins = selection.type === undefined ? undefined : new Set(originsOf.all(selection.type));
    this.#summarize = db.prepare(`
      SELECT count(*) AS events, max(seq) AS lastSeq, min(received_ms) AS earliestMs
        FROM (SELECT seq, received_ms FROM event WHERE seq > ? ORDER BY seq LIMIT ${SUMMARY_ROWS})`);
    this.#read = db.prepare(`
      SELECT seq, session, received_ms AS receivedMs, origin FROM event WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ${READ_ROWS}`);
    this.#selectNextPlausible = db.prepare(`
      SELECT seq, received_ms AS receivedMs FROM event WHERE seq > ? AND received_ms BETWEEN ? AND ? ORDER BY seq LIMIT 1`);
  }

  /** @yields the events in batches, each event once; a batch may be empty. */
  *batches(): Generator<readonly ExpiredEvent[]> {
    for (let after = 0; ; ) {
      const { events, lastSeq, earliestMs } = this.#summarize.get(after)!;
      if (lastSeq === null || earliestMs === null) return;
      this.events += events;
      if (earliestMs < this.#selection.beforeMs) yield* this.#expiredBetween(after, lastSeq);
      after = lastSeq;
    }
  }

  *#expiredBetween(after: number, lastSeq: number): Generator<readonly ExpiredEvent[]> {
    for (let from = after; from < lastSeq; ) {
      const rows = this.#read.all(from, lastSeq);
      if (rows.length === 0) return;
      from = rows.at(-1)!.seq;
      const expired = this.#expiredAmong(rows);
      const found = expired.filter((row) => !this.#isHeld(row));
      this.held += expired.length - found.length;
      yield found;
    }
  }

  /** @param rows consecutive events, in order of arrival. */
  #expiredAmong(rows: readonly AgedEvent[]): AgedEvent[] {
    const isOld = this.#areOld(rows, this.#selection.beforeMs);
    return rows.filter(({ origin }, i) => isOld[i] && (this.#origins?.has(origin) ?? true));
  }

  #areOld(rows: readonly AgedEvent[], beforeMs: number): boolean[] {
    const last = rows.at(-1)!;
    const nextMs = isPlausible(last.receivedMs, this.#selection) ? undefined : this.#plausibleAfter(last.seq);
    const times = rows.map(({ receivedMs }) => receivedMs);
    return expiredAmong(times, nextMs, { ...this.#selection, beforeMs });
  }

  #isHeld(row: AgedEvent): boolean {
    const { hold } = this.#selection;
    return hold !== undefined && row.seq > hold.afterSeq && !this.#areOld([row], hold.beforeMs)[0];
  }

  /**
   * @returns the first plausible time after this event, when the clock was right again; undefined if there is
   * none.
   */
  #plausibleAfter(seq: number): number | undefined {
    if (seq < this.#nextPlausibleTime.after || seq >= this.#nextPlausibleTime.until) {
      const found = this.#selectNextPlausible.get(seq, EARLIEST_RECEIVED_MS, this.#selection.nowMs);
      this.#nextPlausibleTime = {
        after: seq,
        until: found?.seq ?? Number.POSITIVE_INFINITY,
        ms: found?.receivedMs,
      };
    }
    return this.#nextPlausibleTime.ms;
  }
}
