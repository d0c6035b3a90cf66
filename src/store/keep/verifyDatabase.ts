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

/** The key of an event behind `up_to` may be only in the memory of the daemon. */
const KEY_FAULTS = `
  SELECT
    -- Events to which no key leads: they are stored twice, or would be if they came again.
    (SELECT count(*) FROM event e LEFT JOIN key k ON (k.session, k.hash, k.revision) = (e.session, key_hash(e.event_id), e.revision)
      WHERE iif(e.seq <= up_to, k.seq IS NOT e.seq, k.seq <> e.seq)) AS withoutKey,
    -- Keys that lead to another event, or to a missing one that no prune has deleted.
    (SELECT count(*) FROM key k LEFT JOIN event e ON e.seq = k.seq
      WHERE iif(e.seq IS NULL, k.seq > up_to_seq AND k.seq <= up_to,
                (e.session, key_hash(e.event_id), e.revision) IS NOT (k.session, k.hash, k.revision))) AS astray
    FROM flushed, pruned`;

/** The faults of a database whose single pages are intact: each is 0 if there is none. `damaged`: events that do not match their checksum. */
export type Consistency = Readonly<Record<'damaged' | 'miscounted' | 'withoutKey' | 'astray', number>>;

/**
 * Reads all events and all keys in one transaction, also while the daemon runs: the WAL is kept meanwhile.
 * @param on is called with how many events were read.
 */
export function checkConsistency(db: Database.Database, on: (events: number) => void): Consistency {
  db.function('key_hash', { deterministic: true }, keyHash);
  return db.transaction(() => {
    const { damage, miscounted } = verifyEvents(db, on);
    return { ...db.prepare<[], Consistency>(KEY_FAULTS).get()!, damaged: damage.events, miscounted };
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
