import type { Statement } from 'better-sqlite3';
import Database from 'better-sqlite3';
import { COMPARED_CHARS } from '../../base/limits.ts';
import type { CourtEvent } from '../../protocol/event.ts';
import { sameJson } from '../../protocol/sameJson.ts';

/** UTF-8 bytes of a UTF-16 code unit, at most. */
const UTF8_BYTES = 3;

/**
 * The columns that identify an event. Without its texts, which may be as large as a request body: those are
 * read only to be compared.
 */
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
  readonly erased: 1 | null;
}

export type CameraNames = Pick<CourtEvent, 'courtId' | 'source'>;

/** An event that has arrived, with the ids of its interned names. */
interface Arrived {
  readonly session: number;
  readonly origin: number;
  readonly event: CourtEvent;
}

/**
 * Decides from the rows whether an event is stored already: a key of the dedup index only says where it may
 * be. Compares the ids of names, so that the verdict does not depend on other rows.
 */
export class Arbiter {
  readonly #head: Statement<[number], Head>;
  readonly #texts: Statement<[number], Pick<CourtEvent, 'payload' | 'extra'>>;
  readonly #camera: Statement<[number], CameraNames>;

  constructor(db: Database.Database) {
    this.#head = db.prepare(`
      SELECT seq, session, event_id AS eventId, revision, eot, origin, confidence, octet_length(payload) AS payloadBytes,
             octet_length(extra) AS extraBytes, erased
        FROM event WHERE seq = ?`);
    this.#texts = db.prepare('SELECT payload, extra FROM event WHERE seq = ?');
    this.#camera = db.prepare('SELECT court AS courtId, source FROM origin WHERE id = ?');
  }

  /**
   * @returns the first of these rows with the same (session_id, event_id, revision) (spec 2.3); undefined if
   * there is none.
   */
  find({ session, event }: Arrived, seqs: readonly number[]): Head | undefined {
    for (const seq of seqs) {
      const head = this.#head.get(seq);
      if (head?.eventId !== event.eventId) continue;
      if (head.revision === event.revision && head.session === session) return head;
    }
    return undefined;
  }

  /**
   * @returns the camera of the stored event where that is another one: the two share an event_id. Undefined where court and source
   * are the same, or the names are missing.
   */
  otherCamera(stored: Head, { origin, event }: Arrived): CameraNames | undefined {
    if (stored.origin === origin) return undefined;
    const camera = this.#camera.get(stored.origin);
    const isSame = camera?.courtId === event.courtId && camera.source === event.source;
    return isSame ? undefined : camera;
  }

  /**
   * @returns whether the stored event is the same JSON value; if not, the two are in conflict. One that was erased is. The size of the
   * new event bounds what is read for that.
   * @throws {SqliteError} SQLITE_CORRUPT where the stored text is not JSON: SQLite does not detect damage
   * inside a text.
   */
  isSame(stored: Head, { origin, event }: Arrived): boolean {
    // What was sent is not kept, so nothing else can be said of it.
    if (stored.erased === 1) return true;
    if (stored.origin !== origin || stored.eot !== event.eot || stored.confidence !== event.confidence)
      return false;
    if (!mayBeSame(stored.payloadBytes, event.payload)) return false;
    if (!mayBeSame(stored.extraBytes ?? 0, event.extra ?? '')) return false;
    const texts = this.#texts.get(stored.seq);
    if (texts === undefined) return false;
    try {
      return sameJson(texts.payload, event.payload) && sameJson(texts.extra ?? '{}', event.extra ?? '{}');
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw new Database.SqliteError(`event ${stored.seq} is damaged`, 'SQLITE_CORRUPT');
    }
  }
}

/** Texts of different lengths can be the same value only where they are short: long ones are compared as text (sameJson.ts). */
function mayBeSame(bytes: number, text: string): boolean {
  return bytes <= 2 * COMPARED_CHARS * UTF8_BYTES || bytes === Buffer.byteLength(text);
}
