import t from 'tap';
import { Expired, expiredEvents } from '../../../src/store/keep/expiredEvents.ts';
import { events } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 9, 14);
const DAYS = 90;

t.test('a prune deletes the log up to its last old event before the first young one', (t) => {
  const { db } = scratch(t);
  const sent = events(6);
  new Committer(db).append(...court(...sent));
  const setTime = db.prepare('UPDATE event SET received_ms = ? WHERE seq = ?');
  const LONG = 20_000;
  const table: readonly (readonly [what: string, daysAgo: readonly number[], deleted: number])[] = [
    ['a clock that is right', [200, 100, 91, 90, 10, 1], 3],
    ['young by an hour, between old ones', [200, 90 - 1 / 24, 200, 10, 10, 10], 1],
    ['no young event', [200, 200, 200, 200, 200, 91], 6],
    ['after a winter, years behind', [200, LONG, LONG, 10, 10, 1], 1],
    ['the same, and long ago', [200, LONG, LONG, 100, 10, 1], 4],
    ['a new box whose clock is behind', [LONG, LONG, LONG, LONG, LONG, LONG], 0],
    ['a new box whose clock was behind', [LONG, LONG, 10, 200, 200, 200], 0],
    ['ahead for a moment, between old ones', [200, -400, 200, 10, 1, 1], 3],
    ['everything is in the future: the clock is behind now', [-400, -400, -400, -400, 1, 0], 0],
    ['a young time in front stops it', [10, 200, 200, 200, 200, 200], 0],
  ];
  for (const [what, daysAgo, deleted] of table) {
    for (const [i, days] of daysAgo.entries()) setTime.run(NOW - days * DAY_MS, i + 1);
    const which = { beforeMs: NOW - DAYS * DAY_MS, nowMs: NOW };
    const seqs = [...expiredEvents(db, which, () => 2, new Expired())].flat();
    t.strictSame(
      seqs,
      [1, 2, 3, 4, 5, 6].filter((seq) => seq <= deleted),
      what,
    );
  }
  t.end();
});
