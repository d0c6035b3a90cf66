import type { Database, Statement, Transaction } from 'better-sqlite3';
import { ORDER_STEP_EVENTS } from '../protocol/limits.ts';

/**
 * The events of each session in the order of eot, then of arrival (design 2): the table `eot_order`. As an index of
 * `event` it took an eighth of the rate and a quarter of all that is written (16 sessions): every commit dirtied a page of it
 * for each session in play. So events are put into it later, a few thousand at a time, and `ordered` tells up to which seq
 * all of them are in it. Those after that are the tail: every reader takes them from `event`, by their seq.
 */

const TAIL = 'FROM event WHERE seq > (SELECT up_to_seq FROM ordered)';

/** Puts the tail in order, for the daemon: between commits, never inside one. A crash between two steps loses nothing. */
export class Ordering {
  readonly #endOfStep: Statement<[], number | null>;
  readonly #put: Statement<[number]>;
  readonly #noteUpTo: Statement<[number]>;
  readonly #runStep: Transaction<() => number>;
  /** Events in the tail; too many are counted where one was rolled back or pruned, which does no harm. */
  #tail: number;

  constructor(db: Database) {
    this.#tail = db.prepare<[], number>(`SELECT count(*) ${TAIL}`).pluck().get() ?? 0;
    // Of events that are committed: a seq that was rolled back may be given again after a crash.
    this.#endOfStep = db
      .prepare<[], number | null>(
        `SELECT coalesce((SELECT seq ${TAIL} ORDER BY seq LIMIT 1 OFFSET ${ORDER_STEP_EVENTS - 1}), (SELECT max(seq) ${TAIL}))`,
      )
      .pluck();
    this.#put = db.prepare(
      `INSERT OR REPLACE INTO eot_order SELECT session, eot_ns, seq ${TAIL} AND seq <= ?`,
    );
    this.#noteUpTo = db.prepare('UPDATE ordered SET up_to_seq = ?');
    this.#runStep = db.transaction(() => this.#putInOrder());
  }

  /** Whether the tail is long enough for a step. */
  get isDue(): boolean {
    return this.#tail >= ORDER_STEP_EVENTS;
  }

  /** So many events have been appended. */
  note(events: number): void {
    this.#tail += events;
  }

  /** Puts the oldest events of the tail in order, in a transaction of its own. */
  step(): void {
    const put = this.#runStep.immediate();
    this.#tail = put < ORDER_STEP_EVENTS ? 0 : this.#tail - put;
  }

  #putInOrder(): number {
    const end = this.#endOfStep.get();
    if (end === undefined || end === null) return 0;
    const { changes } = this.#put.run(end);
    this.#noteUpTo.run(end);
    return changes;
  }
}

/**
 * Notes what is stored now, for a reader: from then on `temp.in_order (session, eot_ns, seq)` holds those events, each
 * once, less what is pruned meanwhile. The tail is taken now, in the same moment as its beginning, because the daemon puts
 * it in order behind the reader's back. Bounded, as it is, it goes to a temporary table.
 * @param db a connection of its own.
 * @returns the highest seq, 0 without events.
 */
export function noteOrder(db: Database): number {
  const number = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
  return db.transaction(() => {
    const upToSeq = number('SELECT up_to_seq FROM ordered');
    db.exec(`
      DROP VIEW IF EXISTS temp.in_order;
      DROP TABLE IF EXISTS temp.tail;
      CREATE TEMP TABLE tail (session INTEGER, eot_ns INTEGER, seq INTEGER,
        PRIMARY KEY (session, eot_ns, seq)) WITHOUT ROWID;
      INSERT INTO temp.tail SELECT session, eot_ns, seq ${TAIL} ORDER BY session, eot_ns, seq;
      CREATE TEMP VIEW in_order AS
        SELECT session, eot_ns, seq FROM main.eot_order WHERE seq <= ${upToSeq}
        UNION ALL
        SELECT session, eot_ns, seq FROM temp.tail AS t WHERE EXISTS (SELECT 1 FROM main.event AS e WHERE e.seq = t.seq);
    `);
    return number('SELECT max(seq) FROM event');
  })();
}

/** For queries of `session`: whether it has events. The tail is looked through once, however many sessions there are. */
export const HAS_EVENTS = `(
  EXISTS (SELECT 1 FROM eot_order WHERE eot_order.session = session.id) OR session.id IN (SELECT event.session ${TAIL}))`;

/** Looks at every event. @returns whether the order holds all that it should, each at its place, and nothing else. */
export function isOrderRight(db: Database): boolean {
  const isRight = db.prepare<[], number>(`
    SELECT (SELECT count(*) FROM ordered) = 1 AND (SELECT count(*) FROM eot_order) = count(*) AND count(o.seq) = count(*)
      FROM event e LEFT JOIN eot_order o ON (o.session, o.eot_ns, o.seq) = (e.session, e.eot_ns, e.seq)
     WHERE e.seq <= (SELECT up_to_seq FROM ordered)`);
  return isRight.pluck().get() === 1;
}
