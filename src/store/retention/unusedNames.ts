import type { Database } from 'better-sqlite3';
import { sessionCounter } from '../layout/sessionCounter.ts';
import { STEP_ROWS } from './pacedSteps.ts';

/** Above this many origins a prune looks for unused ones: a venue of thirty courts has 150. */
export const ORIGINS_BEFORE_PRUNE = 500;
/** Seqs that one query looks at, and keys of deleted sessions that one transaction deletes: half a millisecond each. */
const UNUSED_READ_SEQS = 2_000;
const UNUSED_STEP_KEYS = 250;

/**
 * Finds names that no event uses any more: a camera that puts a timestamp into `source` or `session_id` would
 * fill the file with them. The writer caches the ids of names, and must forget them after each step
 * (nameInterner.ts); no id is assigned twice (schema.ts).
 * @param originsBeforePrune where there are no more origins than this, none is deleted.
 * @yields steps that delete some of them, to be called in a transaction. Undefined
 * after a read that found nothing to delete.
 */
export function* unusedNames(
  db: Database,
  originsBeforePrune = ORIGINS_BEFORE_PRUNE,
): Generator<(() => void) | undefined> {
  yield* emptySessions(db);
  yield* keysOfNoSession(db);
  yield* unusedOrigins(db, originsBeforePrune);
}

function* emptySessions(db: Database): Generator<() => void> {
  const find = db
    .prepare<[number], number>(
      `SELECT id FROM session WHERE events = 0 AND id > ? ORDER BY id LIMIT ${STEP_ROWS}`,
    )
    .pluck();
  const remove = db.prepare<[number]>('DELETE FROM session WHERE id = ? AND events = 0');
  const countSessions = sessionCounter(db);
  for (let ids = find.all(0); ids.length > 0; ids = find.all(ids.at(-1)!)) {
    yield () => {
      countSessions();
      for (const id of ids) remove.run(id);
    };
  }
}

function* keysOfNoSession(db: Database): Generator<(() => void) | undefined> {
  const next = db.prepare<[number], number | null>('SELECT min(session) FROM key WHERE session > ?').pluck();
  const exists = db.prepare<[number], number>('SELECT 1 FROM session WHERE id = ?').pluck();
  const remove = db.prepare<[number]>(`
    DELETE FROM key WHERE (session, hash, revision) IN (
      SELECT session, hash, revision FROM key WHERE session = ? LIMIT ${UNUSED_STEP_KEYS})`);
  let looks = 0;
  for (let session = next.get(0); typeof session === 'number'; session = next.get(session)) {
    if (++looks % STEP_ROWS === 0) yield undefined;
    if (exists.get(session) !== undefined) continue;
    const id = session;
    let removed = UNUSED_STEP_KEYS;
    while (removed === UNUSED_STEP_KEYS) {
      yield () => {
        removed = remove.run(id).changes;
      };
    }
  }
}

/** Reads every event, so only where there are more origins than cameras create in years. */
function* unusedOrigins(db: Database, originsBeforePrune: number): Generator<(() => void) | undefined> {
  const all = db.prepare<[], number>('SELECT id FROM origin ORDER BY id').pluck().all();
  if (all.length <= originsBeforePrune) return;
  const bounds = db.prepare<[], { first: number | null; last: number | null }>(
    'SELECT (SELECT min(seq) FROM event) AS first, (SELECT max(seq) FROM event) AS last',
  );
  const usedBy = db
    .prepare<[number, number], number>('SELECT DISTINCT origin FROM event WHERE seq > ? AND seq <= ?')
    .pluck();
  const used = new Set<number>();
  let seen = (bounds.get()?.first ?? 1) - 1;
  /** Marks the origins of some of the events that it has not seen. @returns whether there are more. */
  const scan = () => {
    const last = bounds.get()?.last ?? 0;
    const upTo = Math.min(seen + UNUSED_READ_SEQS, last);
    for (const origin of usedBy.all(seen, upTo)) used.add(origin);
    seen = Math.max(seen, upTo);
    return seen < last;
  };
  const remove = db.prepare<[number]>('DELETE FROM origin WHERE id = ?');
  for (let at = 0; at < all.length; at += STEP_ROWS) {
    while (scan()) yield undefined;
    yield () => {
      // Again, now that no event can come in between.
      while (scan());
      for (const id of all.slice(at, at + STEP_ROWS)) if (!used.has(id)) remove.run(id);
    };
  }
}
