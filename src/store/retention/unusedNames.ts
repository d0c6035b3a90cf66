import type { Database } from 'better-sqlite3';
import { sessionCounter } from '../layout/sessionCounter.ts';
import { STEP_KEYS } from '../sqlite/sizes.ts';
import type { Step } from './steps.ts';

/** Above this many origins a prune looks for unused ones: a venue of thirty courts has 150. */
const ORIGINS_KEPT = 500;
/** Events that one query looks at: half a millisecond. */
const LOOK_ROWS = 2_000;

/**
 * Keys of deleted events, which are deleted after the events because they are in the order of their hash: each would change a page of
 * its own. A key without an event is replaced if the event comes again.
 * @param sessions that have lost events. Of an interrupted prune, keys stay until the session loses events again or has none.
 * @yields steps that delete keys.
 */
export function* keysWithoutEvent(db: Database, sessions: Iterable<number>): Generator<Step> {
  const next = db
    .prepare<unknown[], [Buffer, number]>(`
      SELECT hash, revision FROM key WHERE session = ? AND (hash, revision) > (?, ?)
       ORDER BY hash, revision LIMIT 1 OFFSET ${STEP_KEYS - 1}`)
    .raw();
  const remove = db.prepare(`
    DELETE FROM key WHERE session = ? AND (hash, revision) > (?, ?) AND (hash, revision) <= (?, ?)
       AND seq <= (SELECT up_to_seq FROM pruned) AND NOT EXISTS (SELECT 1 FROM event WHERE seq = key.seq)`);
  const empty = db.prepare<[], number>('SELECT id FROM session WHERE events = 0').pluck();
  const end: [Buffer, number] = [Buffer.alloc(32, 0xff), 0];
  for (const session of new Set([...sessions, ...empty.all()])) {
    for (let after: [Buffer, number] = [Buffer.alloc(1), -1]; after !== end; ) {
      const to = next.get(session, ...after) ?? end;
      const from = after;
      yield () => void remove.run(session, ...from, ...to);
      after = to;
    }
  }
}

/** @yields steps that delete sessions without events, after their keys: the writer must forget the ids of names then. */
export function* emptySessions(db: Database, rows: () => number): Generator<Step> {
  const find = db
    .prepare<[number, number], number>(
      'SELECT id FROM session WHERE events = 0 AND id > ? ORDER BY id LIMIT ?',
    )
    .pluck();
  // A counter may be wrong, and without its name no event of the session can be read.
  const remove = db.prepare<[number]>(`
    DELETE FROM session AS s WHERE id = ? AND events = 0
       AND NOT EXISTS (SELECT 1 FROM key WHERE session = s.id) AND NOT EXISTS (SELECT 1 FROM recent_key WHERE session = s.id)`);
  const countSessions = sessionCounter(db);
  for (let ids = find.all(0, rows()); ids.length > 0; ids = find.all(ids.at(-1)!, rows())) {
    yield () => {
      countSessions();
      for (const id of ids) remove.run(id);
    };
  }
}

/**
 * A camera that puts a timestamp into `source` fills the file with origins that no event uses any more. All events are read, so only
 * if there are more origins than cameras make in years. No id is given twice (../layout/schema.ts).
 * @yields steps that delete some: the writer must forget the ids of names then.
 */
export function* unusedOrigins(db: Database, rows: () => number, kept = ORIGINS_KEPT): Generator<Step> {
  const unused = new Set(db.prepare<[], number>('SELECT id FROM origin').pluck().all());
  if (unused.size <= kept) return;
  const look = db.prepare<[number], { last: number | null; used: string }>(`
    SELECT max(seq) AS last, json_group_array(DISTINCT origin) AS used
      FROM (SELECT seq, origin FROM event WHERE seq > ? ORDER BY seq LIMIT ${LOOK_ROWS})`);
  let seen = 0;
  /** Looks at some events that it has not seen. @returns whether there may be more. */
  const scan = () => {
    const { last, used } = look.get(seen)!;
    for (const origin of JSON.parse(used)) unused.delete(origin);
    seen = last ?? seen;
    return last !== null;
  };
  while (scan()) yield undefined;
  const remove = db.prepare<[number]>('DELETE FROM origin WHERE id = ?');
  for (const ids = [...unused]; ids.length > 0; ) {
    const some = ids.splice(0, rows());
    yield () => {
      // Now that no event can come in between.
      while (scan());
      for (const id of some) if (unused.has(id)) remove.run(id);
    };
  }
}
