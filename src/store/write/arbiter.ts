import type { Statement } from 'better-sqlite3';
import Database from 'better-sqlite3';
import { COMPARED_CHARS } from '../../base/limits.ts';
import { type CourtEvent, sameContent } from '../../protocol/event.ts';

/** Of a UTF-16 unit, at most. */
const UTF8_BYTES = 3;

/** An event that a key leads to, without its texts, which may be as large as a body: they are read only to compare them. */
interface Head {
  readonly seq: number;
  readonly session: number;
  readonly eventId: string;
  readonly revision: number;
  readonly eot: string;
  readonly origin: number;
  readonly confidence: number;
  readonly payloadBytes: number;
  readonly extraBytes: number | null;
}

/** An event that has come, with the ids of its names. */
interface Arrived {
  readonly session: number;
  readonly origin: number;
  readonly event: CourtEvent;
}

/** Tells whether an event is stored already. By the ids of its names alone: what it is does not rest on other rows. */
export class Arbiter {
  readonly #head: Statement<[number], Head>;
  readonly #texts: Statement<[number], Pick<CourtEvent, 'payload' | 'extra'>>;
  readonly #camera: Statement<[number], Pick<CourtEvent, 'courtId' | 'source'>>;

  constructor(db: Database.Database) {
    this.#head = db.prepare(`
      SELECT seq, session, event_id AS eventId, revision, eot, origin, confidence, octet_length(payload) AS payloadBytes,
             octet_length(extra) AS extraBytes
        FROM event WHERE seq = ?`);
    this.#texts = db.prepare('SELECT payload, extra FROM event WHERE seq = ?');
    this.#camera = db.prepare('SELECT court AS courtId, source FROM origin WHERE id = ?');
  }

  /** @returns the one of these events that has the same key (spec 2.3). */
  find({ session, event }: Arrived, seqs: readonly number[]): Head | undefined {
    for (const seq of seqs) {
      const head = this.#head.get(seq);
      if (head?.eventId !== event.eventId) continue;
      if (head.revision === event.revision && head.session === session) return head;
    }
    return undefined;
  }

  /** @returns whether two events have court and source in common; if not, two cameras share an id. True where names are gone. */
  isOfSameCamera(stored: Head, { origin, event }: Arrived): boolean {
    if (stored.origin === origin) return true;
    const camera = this.#camera.get(stored.origin);
    return camera === undefined || (camera.courtId === event.courtId && camera.source === event.source);
  }

  /**
   * @returns whether a stored event is the same JSON value. What is read for that is bounded by the event that came.
   * @throws {SqliteError} where it is none: SQLite does not see damage within a text.
   */
  isSame(stored: Head, { origin, event }: Arrived): boolean {
    if (stored.origin !== origin || stored.eot !== event.eot || stored.confidence !== event.confidence)
      return false;
    if (!mayBeSame(stored.payloadBytes, event.payload)) return false;
    if (!mayBeSame(stored.extraBytes ?? 0, event.extra ?? '')) return false;
    const texts = this.#texts.get(stored.seq);
    try {
      return texts !== undefined && sameContent({ ...event, ...texts }, event);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw new Database.SqliteError(`event ${stored.seq} is damaged`, 'SQLITE_CORRUPT');
    }
  }
}

/** Texts of other lengths are compared as JSON values only if both are short. */
function mayBeSame(bytes: number, text: string): boolean {
  return bytes <= 2 * COMPARED_CHARS * UTF8_BYTES || bytes === Buffer.byteLength(text);
}
