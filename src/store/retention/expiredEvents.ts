import type { Database, Statement } from 'better-sqlite3';
import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';
import { type Age, expiredAmong, isPlausible } from './ageRule.ts';
import { PRUNE_READ_ROWS } from './pruneSteps.ts';
import { SupersededRevisions } from './supersededRevisions.ts';

/** Events that a prune looks at in one query, for whether any of them is expired: 20,000 take 3 ms. */
const SUMMARY_ROWS = 20_000;

/** Which events are to go. */
export interface PruneSelection extends Age {
  /** Only those of this type, and what they have superseded. */
  readonly type?: string;
}

export interface ExpiredEvent {
  readonly seq: number;
  readonly session: number;
}

interface Row extends ExpiredEvent {
  readonly receivedMs: number;
  readonly origin: number;
  readonly revision: number;
  /** Of a revision only. */
  readonly eventId: string | null;
}

interface Summary {
  readonly events: number;
  readonly lastSeq: number | null;
  readonly earliestMs: number | null;
}

const ROW = `seq, session, received_ms AS receivedMs, origin, revision, iif(revision > 0, event_id, NULL) AS eventId`;

/**
 * Finds what is to go (ageRule.ts), in the order of arrival, and with a revision all lower ones of its event, whatever their age
 * and type: or one that had been superseded would be current again. For the same reason they stand before it: a prune may be cut short
 * anywhere. All events are looked at, most of them many at a time: where a stretch begins and ends in time is nothing to rely on.
 */
export class ExpiredEvents {
  readonly #selection: PruneSelection;
  readonly #origins: ReadonlySet<number> | undefined;
  readonly #revisions: SupersededRevisions;
  readonly #summarize: Statement<[number], Summary>;
  readonly #read: Statement<[number, number], Row>;
  readonly #readOne: Statement<[number], Row>;
  readonly #selectNextPlausible: Statement<[number, number, number], Pick<Row, 'seq' | 'receivedMs'>>;
  /** Lower revisions that have been found already: two higher ones may lead to the same, and so may their own age. */
  readonly #alreadyFound = new Set<number>();
  /** The first plausible time after any event between the two. */
  #nextPlausibleTime = { after: 0, until: 0, ms: undefined as number | undefined };
  /** Events that have been looked at. */
  events = 0;

  constructor(db: Database, selection: PruneSelection) {
    this.#selection = selection;
    const originsOf = db.prepare<[string], number>('SELECT id FROM origin WHERE type = ?').pluck();
    this.#origins = selection.type === undefined ? undefined : new Set(originsOf.all(selection.type));
    this.#revisions = new SupersededRevisions(db);
    this.#summarize = db.prepare(`
      SELECT count(*) AS events, max(seq) AS lastSeq, min(received_ms) AS earliestMs
        FROM (SELECT seq, received_ms FROM event WHERE seq > ? ORDER BY seq LIMIT ${SUMMARY_ROWS})`);
    this.#read = db.prepare(`
      SELECT ${ROW} FROM event WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ${PRUNE_READ_ROWS}`);
    this.#readOne = db.prepare(`SELECT ${ROW} FROM event WHERE seq = ?`);
    this.#selectNextPlausible = db.prepare(`
      SELECT seq, received_ms AS receivedMs FROM event WHERE seq > ? AND received_ms BETWEEN ? AND ? ORDER BY seq LIMIT 1`);
  }

  /** @yields batches of them, each event once, some batches empty. */
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
      const superseded = expired.flatMap((row) => this.#supersededBy(row));
      yield [...superseded, ...expired.filter(({ seq }) => !this.#alreadyFound.has(seq))];
    }
  }

  /** @param rows in the order of arrival, none left out. */
  #expiredAmong(rows: readonly Row[]): Row[] {
    const last = rows.at(-1)!;
    const nextMs = isPlausible(last.receivedMs, this.#selection) ? undefined : this.#plausibleAfter(last.seq);
    const times = rows.map(({ receivedMs }) => receivedMs);
    const isOld = expiredAmong(times, nextMs, this.#selection);
    return rows.filter(({ origin }, i) => isOld[i] && (this.#origins?.has(origin) ?? true));
  }

  #supersededBy({ seq, session, eventId, revision }: Row): ExpiredEvent[] {
    if (eventId === null) return [];
    const lower = this.#revisions
      .below({ session, eventId, revision })
      .filter((other) => !this.#alreadyFound.has(other));
    const rows = lower.map((other) => this.#readOne.get(other)).filter((row) => row !== undefined);
    // Others came before it and go by themselves, before it.
    const found = rows.filter((row) => row.seq > seq || this.#expiredAmong([row]).length === 0);
    for (const row of found) this.#alreadyFound.add(row.seq);
    return found;
  }

  /** @returns when the clock was right again, if it was. */
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
