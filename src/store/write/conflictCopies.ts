import type { Database, Statement } from 'better-sqlite3';
import { CONFLICT_COPIES, CONFLICT_COPY_BYTES } from '../../base/limits.ts';
import { type CourtEvent, eventToJson } from '../../protocol/courtEvent.ts';

/**
 * The latest other version of an event in conflict, for `courtd conflicts`: the newest CONFLICT_COPIES are kept. It is written in
 * the transaction of its request, and costs nothing if there is no conflict.
 */
export class ConflictCopies {
  readonly #put: Statement<[number, string | null]>;
  readonly #trim: Statement<[]>;
  #hasNew = false;

  constructor(db: Database) {
    this.#put = db.prepare(`
      INSERT INTO conflict_copy (seq, turn, event)
      VALUES (?, (SELECT ifnull(max(turn), 0) + 1 FROM conflict_copy), ?)
      ON CONFLICT DO UPDATE SET turn = excluded.turn, event = excluded.event`);
    this.#trim = db.prepare(`
      DELETE FROM conflict_copy
       WHERE turn <= (SELECT turn FROM conflict_copy ORDER BY turn DESC LIMIT 1 OFFSET ${CONFLICT_COPIES})`);
  }

  /** @param seq of the stored event. @param other what came now. */
  add(seq: number, other: CourtEvent): void {
    const text = eventToJson(other);
    this.#put.run(seq, Buffer.byteLength(text) <= CONFLICT_COPY_BYTES ? text : null);
    this.#hasNew = true;
  }

  /** Deletes the oldest ones. Call it before the commit. */
  trim(): void {
    if (!this.#hasNew) return;
    this.#hasNew = false;
    this.#trim.run();
  }
}
