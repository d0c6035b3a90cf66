import Database from 'better-sqlite3';
import { OperatorError } from '../../base/operatorError.ts';
import { keyHash } from '../db/keyHash.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { startFault } from '../db/startFault.ts';
import { Damage } from '../read/damage.ts';
import { EVENT_COLUMNS, EVENTS, isVerified, type StoredEvent } from '../read/storedEvent.ts';

/** What a verified copy has. */
export interface Verified {
  readonly events: number;
  /** Which events are damaged, and which are missing, in sentences: everything else is intact. Absent: nothing. */
  readonly damage?: string;
}

/** Sessions that count another number of events than they have; without a name, if the session is missing. */
const MISCOUNTED = `
  SELECT name, ifnull(s.events, 0) AS counted, ifnull(f.events, 0) AS found
    FROM session_total s FULL JOIN (SELECT session, count(*) AS events FROM event GROUP BY session) f ON f.session = s.id
   WHERE counted <> found`;

const WITH_KEY = `
  event e LEFT JOIN key k ON (k.session, k.hash, k.revision) = (e.session, key_hash(e.event_id), e.revision)`;

/** Each is a number; of the events behind `flushed.up_to` only the daemon has the keys. */
const COUNTS = {
  // Events whose key is missing from the table: a resend would be stored again.
  withoutKey: `SELECT count(*) FROM ${WITH_KEY} WHERE e.seq <= (SELECT up_to FROM flushed) AND k.seq IS NOT e.seq`,
  // Keys that lead to another event, or to a missing one that no prune has deleted.
  astray: `
    SELECT count(*) FROM key k LEFT JOIN event e ON e.seq = k.seq
     WHERE iif(e.seq IS NULL, k.seq > (SELECT up_to_seq FROM pruned) AND k.seq <= (SELECT up_to FROM flushed),
               (e.session, key_hash(e.event_id), e.revision) IS NOT (k.session, k.hash, k.revision))`,
  // Events whose key leads to the same event under another seq.
  twice: `SELECT count(*) FROM ${WITH_KEY} JOIN event o ON o.seq = k.seq WHERE o.seq <> e.seq AND o.event_id = e.event_id`,
};

/** The faults of a database whose single pages are intact: each is 0 if there is none. `damaged`: events that do not match their checksum. */
export type Consistency = Readonly<Record<'damaged' | 'miscounted' | keyof typeof COUNTS, number>>;

/**
 * Reads all events and all keys in one transaction, also while the daemon runs: the WAL is kept meanwhile.
 * @param on is called with how many events were read.
 */
export function checkConsistency(db: Database.Database, on: (events: number) => void): Consistency {
  db.function('key_hash', { deterministic: true }, keyHash);
  return db.transaction(() => {
    const { damage, miscounted } = verifyEvents(db, on);
    const counts = Object.entries(COUNTS).map(([name, sql]) => [name, db.prepare(sql).pluck().get()]);
    return { damaged: damage.events, miscounted, ...Object.fromEntries(counts) };
  })();
}

/**
 * Reads every page and verifies every event of a copy that nobody else has open, and checks what a start does. Nothing is left beside
 * the copy: a WAL is copied into it, and a transaction that was cut off is rolled back.
 * @param name of the copy, and `advice` what has become of it and what to do, for a sentence.
 * @throws {OperatorError} if it is not an intact courtd database that this version can read.
 */
export function verifyDatabase(file: string, name: string, advice: string): Verified {
  const db = new Database(file, { fileMustExist: true });
  try {
    db.pragma('journal_mode = MEMORY');
    const fault = db.pragma('integrity_check', { simple: true }) === 'ok' ? startFault(db) : 'is damaged';
    if (fault !== undefined) throw new OperatorError(`${name} ${fault}: ${advice}`);
    const { events, damage } = verifyEvents(db);
    return { events, ...(damage.isFound && { damage: `${damage}` }) };
  } catch (error) {
    if (!(error instanceof Database.SqliteError) || failureKind(error) === 'full') throw error;
    throw new OperatorError(`${name} is damaged: ${advice}`);
  } finally {
    db.close();
  }
}

/** Compares every event with its checksum, and each session with its count. @param on is called with how many events were read. */
function verifyEvents(db: Database.Database, on: (events: number) => void = () => {}) {
  const damage = new Damage();
  const rows = db.prepare<[], StoredEvent>(`SELECT ${EVENT_COLUMNS} FROM ${EVENTS} ORDER BY e.seq`);
  let events = 0;
  for (const event of rows.iterate()) {
    isVerified(event, damage);
    on(++events);
  }
  const sessions = db.prepare<[], [name: string, counted: number, found: number]>(MISCOUNTED).raw().all();
  for (const session of sessions) damage.miscount(...session);
  return { events, damage, miscounted: sessions.length };
}
