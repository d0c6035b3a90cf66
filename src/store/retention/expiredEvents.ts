import type { Database, Statement } from 'better-sqlite3';
import { EARLIEST_RECEIVED_MS, PRUNE_READ_ROWS } from '../../base/limits.ts';
import { type Age, expiredAmong, isPlausible } from './ageRule.ts';
import { SupersededRevisions } from './supersededRevisions.ts';

/** Events that a prune looks at in one query, for whether any of them is old: 20,000 take 3 ms. */
const PRUNE_LOOK_ROWS = 20_000;

/** Which events are to go. */
export interface ExpiredEvents extends Age {
  /** Only those of this type, and what they have replaced. */
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

interface Look {
  readonly events: number;
  readonly lastSeq: number | null;
  readonly earliestMs: number | null;
}

const ROW = `seq, session, received_ms AS receivedMs, origin, revision, iif(revision > 0, event_id, NULL) AS eventId`;

/**
 * Finds what is to go (ageRule.ts), in the order of arrival, and with a revision all lower ones of its event, whatever their age
 * and type: or one that had been replaced would be current again. For the same reason they stand before it: a prune may be cut short
 * anywhere. All events are looked at, most of them many at a time: where a stretch begins and ends in time is nothing to rely on.
 */
export class ExpiredEventFinder {
  readonly #which: ExpiredEvents;
  readonly #origins: ReadonlySet<number> | undefined;
  readonly #replaced: SupersededRevisions;
  readonly #look: Statement<[number], Look>;
  readonly #read: Statement<[number, number], Row>;
  readonly #one: Statement<[number], Row>;
  readonly #nextPlausible: Statement<[number, number, number], Pick<Row, 'seq' | 'receivedMs'>>;
  /** Lower revisions that have been found already: two higher ones may lead to the same, and so may their own age. */
  readonly #found = new Set<number>();
  /** The first plausible time after any event between the two. */
  #next = { after: 0, until: 0, ms: undefined as number | undefined };
  /** Events that have been looked at. */
  events = 0;

  constructor(db: Database, which: ExpiredEvents) {
    this.#which = which;
    const originsOf = db.prepare<[string], number>('SELECT id FROM origin WHERE type = ?').pluck();
    this.#origins = which.type === undefined ? undefined : new Set(originsOf.all(which.type));
    this.#replaced = new SupersededRevisions(db);
    this.#look = db.prepare(`
      SELECT count(*) AS events, max(seq) AS lastSeq, min(received_ms) AS earliestMs
        FROM (SELECT seq, received_ms FROM event WHERE seq > ? ORDER BY seq LIMIT ${PRUNE_LOOK_ROWS})`);
    this.#read = db.prepare(`
      SELECT ${ROW} FROM event WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ${PRUNE_READ_ROWS}`);
    this.#one = db.prepare(`SELECT ${ROW} FROM event WHERE seq = ?`);
    this.#nextPlausible = db.prepare(`
      SELECT seq, received_ms AS receivedMs FROM event WHERE seq > ? AND received_ms BETWEEN ? AND ? ORDER BY seq LIMIT 1`);
  }

  /** @yields lists of them, each event once, some lists empty. */
  *lists(): Generator<readonly ExpiredEvent[]> {
    for (let after = 0; ; ) {
      const { events, lastSeq, earliestMs } = this.#look.get(after)!;
      if (lastSeq === null || earliestMs === null) return;
      this.events += events;
      if (earliestMs < this.#which.beforeMs) yield* this.#between(after, lastSeq);
      after = lastSeq;
    }
  }

  *#between(after: number, lastSeq: number): Generator<readonly ExpiredEvent[]> {
    for (let from = after; from < lastSeq; ) {
      const rows = this.#read.all(from, lastSeq);
      if (rows.length === 0) return;
      from = rows.at(-1)!.seq;
      const old = this.#goingAmong(rows);
      const replaced = old.flatMap((row) => this.#replacedBy(row));
      yield [...replaced, ...old.filter(({ seq }) => !this.#found.has(seq))];
    }
  }

  /** @param rows in the order of arrival, none left out. */
  #goingAmong(rows: readonly Row[]): Row[] {
    const last = rows.at(-1)!;
    const nextMs = isPlausible(last.receivedMs, this.#which) ? undefined : this.#plausibleAfter(last.seq);
    const times = rows.map(({ receivedMs }) => receivedMs);
    const isOld = expiredAmong(times, nextMs, this.#which);
    return rows.filter(({ origin }, i) => isOld[i] && (this.#origins?.has(origin) ?? true));
  }

  #replacedBy({ seq, session, eventId, revision }: Row): ExpiredEvent[] {
    if (eventId === null) return [];
    const lower = this.#replaced
      .below({ session, eventId, revision })
      .filter((other) => !this.#found.has(other));
    const rows = lower.map((other) => this.#one.get(other)).filter((row) => row !== undefined);
    // Others came before it and go by themselves, before it.
    const found = rows.filter((row) => row.seq > seq || this.#goingAmong([row]).length === 0);
    for (const row of found) this.#found.add(row.seq);
    return found;
  }

  /** @returns when the clock was right again, if it was. */
  #plausibleAfter(seq: number): number | undefined {
    if (seq < this.#next.after || seq >= this.#next.until) {
      const found = this.#nextPlausible.get(seq, EARLIEST_RECEIVED_MS, this.#which.nowMs);
      this.#next = { after: seq, until: found?.seq ?? Number.POSITIVE_INFINITY, ms: found?.receivedMs };
    }
    return this.#next.ms;
  }
}
