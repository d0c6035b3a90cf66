import type { Database, Statement } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { sameJson } from '../../protocol/sameJson.ts';
import { ArrivalDecoder, type DecodedEvent } from '../read/arrivalRow.ts';
import { Damage } from '../read/damage.ts';

export type CameraNames = Pick<CourtEvent, 'courtId' | 'source'>;

/** Compares events that came again with the stored ones. */
export class Arbiter {
  readonly #db: Database;
  #decoder: ArrivalDecoder;
  #last: DecodedEvent | undefined;
  readonly #removals: readonly Statement<[{ seq: number; session: number }]>[];

  constructor(db: Database) {
    this.#db = db;
    this.#decoder = new ArrivalDecoder(db);
    this.#removals = [
      // A session that has lost one does not know its first and last event.
      `UPDATE session SET events = events - 1, first_ns = NULL, last_ns = NULL
        WHERE id = @session AND @seq <= (SELECT counted_up_to FROM flushed)`,
      'DELETE FROM event WHERE seq = @seq',
      'DELETE FROM conflict WHERE session = @session AND seq = @seq',
      'DELETE FROM conflict_copy WHERE seq = @seq',
    ].map((sql) => db.prepare(sql));
  }

  /** Call it before each transaction: rows may have changed. */
  begin(): void {
    this.#last = undefined;
  }

  /** Call it after a rollback, and when names are deleted: their ids are given to other names. */
  forgetNames(): void {
    this.#decoder = new ArrivalDecoder(this.#db);
  }

  /**
   * @param seq what the key of the arrived event leads to. @param arrived the event that came again.
   * @returns the stored event; undefined if it was pruned, or if the disk has changed its row: that is deleted, and makes room for
   * the event that came.
   */
  find(
    seq: number,
    arrived: { readonly session: number; readonly event: CourtEvent },
  ): DecodedEvent | undefined {
    // A request may have the same key many times, and the stored event may be large.
    if (this.#last?.seq === seq) return this.#last;
    const row = this.#decoder.row(seq);
    if (row === undefined) return undefined;
    const stored = this.#decoder.event(row, new Damage());
    const { sessionId, eventId, revision } = arrived.event;
    const isIt =
      stored?.sessionId === sessionId && stored.eventId === eventId && stored.revision === revision;
    if (isIt) {
      this.#last = stored;
      return stored;
    }
    // An intact row of another event means that the key is damaged: that event stays.
    if (stored === undefined)
      for (const removal of this.#removals) removal.run({ seq, session: arrived.session });
    return undefined;
  }
}

/** @returns the camera of the stored event if it is another one: the two share an event_id. */
export function otherCamera(stored: DecodedEvent, event: CourtEvent): CameraNames | undefined {
  return stored.courtId === event.courtId && stored.source === event.source ? undefined : stored;
}

/** @returns whether the stored event is the same JSON value; if not, the two are in conflict. Of one that was erased nothing else can be said. */
export function isSameEvent(stored: DecodedEvent, event: CourtEvent): boolean {
  return (
    stored.erased === true ||
    (stored.type === event.type &&
      stored.courtId === event.courtId &&
      stored.venueId === event.venueId &&
      stored.source === event.source &&
      stored.schemaVersion === event.schemaVersion &&
      stored.eot === event.eot &&
      stored.confidence === event.confidence &&
      sameJson(stored.payload, event.payload) &&
      sameJson(stored.extra ?? '{}', event.extra ?? '{}'))
  );
}
