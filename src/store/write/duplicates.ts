import type { Database, Statement } from 'better-sqlite3';
import { CONFLICT_COPIES, CONFLICT_COPY_BYTES } from '../../base/limits.ts';
import { type CourtEvent, eventToJson } from '../../protocol/courtEvent.ts';
import { sameJson } from '../../protocol/sameJson.ts';
import { isIntact } from '../db/checksum.ts';
import { EVENT_COLUMNS, EVENTS, type StoredEvent } from '../read/storedEvent.ts';
import type { NumberedEvent } from './eventRows.ts';

/** An event that came again. */
export interface Copy {
  /** As sent. */
  readonly event: CourtEvent;
  /** Whether its JSON value differs from that of the stored event. */
  readonly isConflict: boolean;
  /** Whether the court or the source differs, too: two cameras share an event_id. */
  readonly isShared: boolean;
}

/**
 * Compares events that came again with the stored ones, and counts them. The latest other version of an event in conflict is kept
 * for `courtd conflicts`, for the newest CONFLICT_COPIES. Call all of it in the transaction of the request.
 */
export class Duplicates {
  readonly #find: Statement<[number], StoredEvent>;
  readonly #countDuplicate: Statement<[number]>;
  readonly #countConflict: Statement<[number, number, number]>;
  readonly #putCopy: Statement<[number, string | null]>;
  readonly #trimCopies: Statement<[]>;
  readonly #removals: readonly Statement<[{ seq: number; session: number }]>[];

  constructor(db: Database) {
    this.#find = db.prepare(`SELECT ${EVENT_COLUMNS} FROM ${EVENTS} WHERE e.seq = ?`);
    this.#countDuplicate = db.prepare('UPDATE session SET duplicates = duplicates + 1 WHERE id = ?');
    this.#countConflict = db.prepare(`
      INSERT INTO conflict (session, seq, copies, last_ms) VALUES (?, ?, 1, ?)
      ON CONFLICT DO UPDATE SET copies = copies + 1, last_ms = excluded.last_ms`);
    this.#putCopy = db.prepare(`
      INSERT INTO conflict_copy (seq, turn, event)
      VALUES (?, (SELECT ifnull(max(turn), 0) + 1 FROM conflict_copy), ?)
      ON CONFLICT DO UPDATE SET turn = excluded.turn, event = excluded.event`);
    this.#trimCopies = db.prepare(`
      DELETE FROM conflict_copy
       WHERE turn <= (SELECT turn FROM conflict_copy ORDER BY turn DESC LIMIT 1 OFFSET ${CONFLICT_COPIES})`);
    this.#removals = [
      // A session that has lost one does not know its first and last event.
      `UPDATE session SET events = events - 1, first_ns = NULL, last_ns = NULL
        WHERE id = @session AND @seq <= (SELECT counted_up_to FROM flushed)`,
      'DELETE FROM event WHERE seq = @seq',
      'DELETE FROM conflict WHERE session = @session AND seq = @seq',
      'DELETE FROM conflict_copy WHERE seq = @seq',
    ].map((sql) => db.prepare(sql));
  }

  /**
   * @param seq what the key of the event that came leads to.
   * @returns the stored event; undefined if it was pruned, or if the disk has changed its row: that is deleted, and makes room for
   * the event that came.
   */
  find(seq: number, { session, event }: NumberedEvent): StoredEvent | undefined {
    const stored = this.#find.get(seq);
    if (stored === undefined) return undefined;
    if (!isIntact(stored)) {
      for (const removal of this.#removals) removal.run({ seq, session });
      return undefined;
    }
    const { sessionId, eventId, revision } = event;
    const isIt = stored.sessionId === sessionId && stored.eventId === eventId && stored.revision === revision;
    // Another event means that the key is damaged: that event stays.
    return isIt ? stored : undefined;
  }

  /** Counts an event that came again. @param first the stored one. */
  count(first: StoredEvent, { session, event, receivedMs }: NumberedEvent): Copy {
    this.#countDuplicate.run(session);
    if (isSameEvent(first, event)) return { event, isConflict: false, isShared: false };
    this.#countConflict.run(session, first.seq, receivedMs);
    const text = eventToJson(event);
    this.#putCopy.run(first.seq, Buffer.byteLength(text) <= CONFLICT_COPY_BYTES ? text : null);
    this.#trimCopies.run();
    const isShared = first.courtId !== event.courtId || first.source !== event.source;
    return { event, isConflict: true, isShared };
  }
}

const COMPARED = ['type', 'courtId', 'venueId', 'source', 'schemaVersion', 'eot', 'confidence'] as const;

/** @returns whether the stored event is the same JSON value. A redacted one cannot be compared. */
function isSameEvent(stored: StoredEvent, event: CourtEvent): boolean {
  if (stored.erased) return true;
  if (COMPARED.some((member) => stored[member] !== event[member])) return false;
  return sameJson(stored.payload, event.payload) && sameJson(stored.extra ?? '{}', event.extra ?? '{}');
}
