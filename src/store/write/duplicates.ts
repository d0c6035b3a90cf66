import type { Database } from 'better-sqlite3';
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
export function duplicatesIn(db: Database) {
  const select = db.prepare<[number], StoredEvent>(`SELECT ${EVENT_COLUMNS} FROM ${EVENTS} WHERE e.seq = ?`);
  const countDuplicate = db.prepare<[number]>('UPDATE session SET duplicates = duplicates + 1 WHERE id = ?');
  const countConflict = db.prepare<[number, number, number]>(`
    INSERT INTO conflict (session, seq, copies, last_ms) VALUES (?, ?, 1, ?)
    ON CONFLICT DO UPDATE SET copies = copies + 1, last_ms = excluded.last_ms`);
  const putCopy = db.prepare<[number, string | null]>(`
    INSERT INTO conflict_copy (seq, turn, event)
    VALUES (?, (SELECT ifnull(max(turn), 0) + 1 FROM conflict_copy), ?)
    ON CONFLICT DO UPDATE SET turn = excluded.turn, event = excluded.event`);
  const trimCopies = db.prepare(`
    DELETE FROM conflict_copy
     WHERE turn <= (SELECT turn FROM conflict_copy ORDER BY turn DESC LIMIT 1 OFFSET ${CONFLICT_COPIES})`);
  const removals = [
    // A session that has lost one does not know its first and last event.
    `UPDATE session SET events = events - 1, first_ns = NULL, last_ns = NULL
      WHERE id = @session AND @seq <= (SELECT counted_up_to FROM flushed)`,
    'DELETE FROM event WHERE seq = @seq',
    'DELETE FROM conflict WHERE session = @session AND seq = @seq',
    'DELETE FROM conflict_copy WHERE seq = @seq',
  ].map((sql) => db.prepare<[{ seq: number; session: number }]>(sql));
  return {
    /**
     * @param seq what the key of the event that came leads to.
     * @returns the stored event; undefined if it was pruned, or if the disk has changed its row: that is deleted, and makes room for
     * the event that came.
     */
    find(seq: number, { session, event }: NumberedEvent): StoredEvent | undefined {
      const stored = select.get(seq);
      if (stored === undefined) return undefined;
      if (!isIntact(stored)) {
        for (const removal of removals) removal.run({ seq, session });
        return undefined;
      }
      // Another event means that the key is damaged: that event stays.
      const isIt = (['sessionId', 'eventId', 'revision'] as const).every(
        (part) => stored[part] === event[part],
      );
      return isIt ? stored : undefined;
    },

    /** Counts an event that came again. @param first the stored one. */
    count(first: StoredEvent, { session, event, receivedMs }: NumberedEvent): Copy {
      countDuplicate.run(session);
      if (isSameEvent(first, event)) return { event, isConflict: false, isShared: false };
      countConflict.run(session, first.seq, receivedMs);
      const text = eventToJson(event);
      putCopy.run(first.seq, Buffer.byteLength(text) <= CONFLICT_COPY_BYTES ? text : null);
      trimCopies.run();
      const isShared = first.courtId !== event.courtId || first.source !== event.source;
      return { event, isConflict: true, isShared };
    },
  };
}

const COMPARED = ['type', 'courtId', 'venueId', 'source', 'schemaVersion', 'eot', 'confidence'] as const;

/** @returns whether the stored event is the same JSON value. A redacted one cannot be compared. */
function isSameEvent(stored: StoredEvent, event: CourtEvent): boolean {
  if (stored.erased) return true;
  if (COMPARED.some((member) => stored[member] !== event[member])) return false;
  // While its player is being erased the stored one may still name them.
  if (event.erased) return true;
  return sameJson(stored.payload, event.payload) && sameJson(stored.extra ?? '{}', event.extra ?? '{}');
}
