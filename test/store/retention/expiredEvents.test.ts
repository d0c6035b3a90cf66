import t from 'tap';
import { ExpiredEvents } from '../../../src/store/retention/expiredEvents.ts';
import { events } from '../../harness/events.ts';
import { Committer, court, scratch } from '../../harness/scratchStore.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 2, 14);
const AGE = { beforeMs: NOW - 90 * DAY_MS, nowMs: NOW };
const [OLD, YOUNG, CLOCK_BEHIND] = [NOW - 100 * DAY_MS, NOW - DAY_MS, 0];

t.test(
  'what came while the clock was behind is as old as what came when it was right: now, where nothing came',
  (t) => {
    const { db } = scratch(t);
    const [behind, ahead, next] = events(3);
    new Committer(db).append(...court(behind!, ahead!, next!));
    const setTime = db.prepare('UPDATE event SET received_ms = ? WHERE seq = ?');
    const found = (...receivedMs: number[]) => {
      for (const [i, ms] of receivedMs.entries()) setTime.run(ms, i + 1);
      return [...new ExpiredEvents(db, AGE).batches()].flat().map(({ seq }) => seq);
    };
    t.strictSame(found(CLOCK_BEHIND, CLOCK_BEHIND, CLOCK_BEHIND), [], 'a new box');
    t.strictSame(found(CLOCK_BEHIND, NOW + DAY_MS, CLOCK_BEHIND), [], 'a clock that was ahead meanwhile');
    t.strictSame(found(CLOCK_BEHIND, YOUNG, OLD), [3]);
    t.strictSame(found(CLOCK_BEHIND, OLD, CLOCK_BEHIND), [1, 2]);
    t.end();
  },
);
