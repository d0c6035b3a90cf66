import type { Database, Statement, Transaction } from 'better-sqlite3';
import { SEAL_STEP_KEYS } from '../protocol/limits.ts';

/** A session whose keys are on their way to the file, in key order. */
interface Move {
  readonly session: number;
  /** Keys of later events stay in memory. */
  readonly lastSeq: number;
  /** The last key that was moved. */
  readonly after: Place;
}

interface Place {
  readonly event_id: string;
  readonly revision: number;
}

/** Sorts before every key: an event_id is never empty. */
const START: Place = { event_id: '', revision: -1 };
/** Sorts after every key: a blob comes after every text. */
const END = Buffer.alloc(0);

/**
 * Moves the keys of one session after the other from memory to the file (keys.ts says why): in key order, so that
 * pages fill up one by one, and in steps, so that ingest does not notice. A crash between two steps leaves keys in
 * both places; they are read back at start, and win when their session is sealed again.
 */
export class Seal {
  /** For each session with keys in memory, a seq that none of them is below. */
  readonly #firstSeq = new Map<number, number>();
  readonly #begun: Set<number>;
  readonly #endOfStep: Statement<unknown[], Place>;
  readonly #copy: Statement<unknown[]>;
  readonly #forget: Statement<unknown[]>;
  readonly #sealSession: Statement<[number, number]>;
  readonly #sealUpTo: Statement<[number]>;
  readonly #runStep: Transaction<(move: Move) => { moved: number; end: Place | undefined }>;
  #lastSeq: number;
  #move: Move | undefined;
  /** The first key of the moving session that came after its seal began. */
  #firstSince: number | undefined;

  constructor(db: Database) {
    const starts = db
      .prepare<[], [number, number]>('SELECT session, min(seq) FROM live.key GROUP BY session')
      .raw();
    for (const [session, seq] of starts.iterate()) this.#firstSeq.set(session, seq);
    this.#begun = new Set(
      db.prepare<[], number>('SELECT id FROM session WHERE sealed_seq > 0').pluck().all(),
    );
    this.#lastSeq = db.prepare<[], number>('SELECT coalesce(max(seq), 0) FROM event').pluck().get() ?? 0;
    this.#endOfStep = db.prepare(`
      SELECT event_id, revision FROM live.key WHERE session = ? AND (event_id, revision) > (?, ?)
       ORDER BY event_id, revision LIMIT 1 OFFSET ${SEAL_STEP_KEYS - 1}`);
    const range = 'session = @session AND (event_id, revision) > (@from, @fromRevision)';
    const part = `${range} AND (event_id, revision) <= (@to, @toRevision) AND seq <= @lastSeq`;
    // Only where a prune has been are the events asked for, one by one.
    const isThere = `(seq > (SELECT pruned_seq FROM session WHERE id = @session)
      OR EXISTS (SELECT 1 FROM event e WHERE e.seq = k.seq))`;
    this.#copy = db.prepare(
      `INSERT OR REPLACE INTO main.key SELECT * FROM live.key AS k WHERE ${part} AND ${isThere} ORDER BY event_id, revision`,
    );
    this.#forget = db.prepare(`DELETE FROM live.key WHERE ${part}`);
    this.#sealSession = db.prepare('UPDATE session SET sealed_seq = ? WHERE id = ?');
    this.#sealUpTo = db.prepare('UPDATE sealed SET up_to_seq = ?');
    this.#runStep = db.transaction((move) => this.#moveKeys(move));
  }

  /** Whether some keys of this session are in the file, so that both places must be asked. */
  hasBegun(session: number): boolean {
    return this.#begun.has(session);
  }

  get isUnderWay(): boolean {
    return this.#move !== undefined;
  }

  /** A key went to memory. One that is rolled back does no harm: its session may seem to start too early. */
  note(session: number, seq: number): void {
    if (seq > this.#lastSeq) this.#lastSeq = seq;
    if (!this.#firstSeq.has(session)) this.#firstSeq.set(session, seq);
    if (this.#move?.session === session) this.#firstSince ??= seq;
  }

  /**
   * Begins with the session that has the oldest keys, or goes on where the last step ended.
   * @returns how many keys left the memory.
   */
  step(): number {
    this.#move ??= this.#begin();
    const move = this.#move;
    if (move === undefined) return 0;
    this.#begun.add(move.session);
    const { moved, end } = this.#runStep.immediate(move);
    // Only after the commit: a step that failed is taken again.
    if (end !== undefined) this.#move = { ...move, after: end };
    else this.#finish(move.session);
    return moved;
  }

  #begin(): Move | undefined {
    const [oldest] = this.#oldestFirst();
    this.#firstSince = undefined;
    return oldest === undefined ? undefined : { session: oldest, lastSeq: this.#lastSeq, after: START };
  }

  #moveKeys(move: Move): { moved: number; end: Place | undefined } {
    const { session, lastSeq, after } = move;
    const end = this.#endOfStep.get(session, after.event_id, after.revision);
    const part = {
      session,
      lastSeq,
      from: after.event_id,
      fromRevision: after.revision,
      // Never "no bound": without one, each step would look at all that is left of the session.
      to: end?.event_id ?? END,
      toRevision: end?.revision ?? 0,
    };
    this.#copy.run(part);
    const moved = this.#forget.run(part).changes;
    if (end === undefined) {
      this.#sealSession.run(lastSeq, session);
      this.#sealUpTo.run(this.#sealedUpTo(move));
    }
    return { moved, end };
  }

  /** Every key up to here is in the file once `move` has ended. */
  #sealedUpTo({ session, lastSeq }: Move): number {
    const others = this.#oldestFirst().find((other) => other !== session);
    const firstOfOthers = others === undefined ? undefined : this.#firstSeq.get(others);
    return Math.min(lastSeq, (firstOfOthers ?? Number.POSITIVE_INFINITY) - 1);
  }

  #finish(session: number): void {
    if (this.#firstSince === undefined) this.#firstSeq.delete(session);
    else this.#firstSeq.set(session, this.#firstSince);
    this.#move = undefined;
  }

  #oldestFirst(): number[] {
    return [...this.#firstSeq.keys()].sort((a, b) => this.#firstSeq.get(a)! - this.#firstSeq.get(b)!);
  }
}
