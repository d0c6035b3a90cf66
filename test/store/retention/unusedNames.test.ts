import type { Database } from 'better-sqlite3';
import t, { type Test } from 'tap';
import { eventRemoval } from '../../../src/store/retention/prune.ts';
import { emptySessions, unusedOrigins } from '../../../src/store/retention/unusedNames.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, scratch, stepsOf } from '../../harness/scratchStore.ts';

const ROWS = () => 100;

/** Names and keys that no event uses, and a daemon that uses them again in between. With a whole prune: unusedNames.proof.ts. */

function make(t: Test) {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const ids = (table: string) => db.prepare(`SELECT id FROM ${table} ORDER BY id`).pluck().all();
  return { db, committer, ids };
}

/** As a prune deletes an event. */
function remove(db: Database, seq: number): void {
  const session = db.prepare<[number], number>('SELECT session FROM event WHERE seq = ?').pluck().get(seq)!;
  db.transaction(() => eventRemoval(db)([{ seq, session }]))();
}

t.test('a session that gets an event after it was found empty stays', (t) => {
  const { db, committer, ids } = make(t);
  const [one, other] = [event({ session_id: 'one' }), event({ session_id: 'other' })];
  committer.append(...court(one, other));
  for (const seq of [1, 2]) remove(db, seq);
  const [step] = emptySessions(db, ROWS);
  committer.append(...court(event({ session_id: 'other' })));
  step?.();
  t.strictSame(ids('session'), [2]);
  t.end();
});

t.test(
  'an origin that gets an event after it was found unused stays, and so does that of the first event',
  (t) => {
    const { db, committer, ids } = make(t);
    const sources = ['first', 'unused', 'used again'].map((source) => event({ source }));
    committer.append(...court(...sources));
    for (const seq of [2, 3]) remove(db, seq);
    t.strictSame([...unusedOrigins(db, ROWS, 3)], [], 'few are left as they are');
    const steps = stepsOf(unusedOrigins(db, ROWS, 2));
    const { value: step } = steps.next();
    committer.append(...court(event({ source: 'used again' })));
    step?.();
    t.strictSame(ids('origin'), [1, 3]);
    t.ok(steps.next().done);
    t.end();
  },
);
