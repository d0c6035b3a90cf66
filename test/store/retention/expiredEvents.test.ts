import t from 'tap';
import { readKeyHash } from '../../../src/store/dedup/keyHash.ts';
import { ExpiredEvents } from '../../../src/store/retention/expiredEvents.ts';
import { SupersededRevisions } from '../../../src/store/retention/supersededRevisions.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, collidingIds, court, scratch } from '../../harness/scratchStore.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 2, 14);
const AGE = { beforeMs: NOW - 90 * DAY_MS, nowMs: NOW };
const [OLD, YOUNG, CLOCK_BEHIND] = [NOW - 100 * DAY_MS, NOW - DAY_MS, 0];

t.test('a lower revision has the age of what came next to itself, and goes with the higher one', (t) => {
  const { db } = scratch(t);
  const [one, other] = events(2);
  const received: [sent: typeof one, ms: number][] = [
    [other, CLOCK_BEHIND],
    [event(), YOUNG],
    [one, CLOCK_BEHIND],
    [event(), OLD],
    [{ ...one!, revision: 1 }, OLD],
    [{ ...other!, revision: 1 }, OLD],
  ];
  new Committer(db).append(...court(...received.map(([sent]) => sent!)));
  const setTime = db.prepare('UPDATE event SET received_ms = ? WHERE seq = ?');
  for (const [i, [, ms]] of received.entries()) setTime.run(ms, i + 1);
  const found = [...new ExpiredEvents(db, AGE).batches()].flat().map(({ seq }) => seq);
  t.strictSame(found.toSorted(), [1, 3, 4, 5, 6]);
  t.end();
});

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

t.test('another event with the same hash is no revision of this one', (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const [id, twin] = collidingIds(readKeyHash(db));
  committer.append(
    ...court(event({ event_id: twin }), event({ event_id: id }), event({ event_id: id, revision: 2 })),
  );
  committer.sealAll();
  const revisions = new SupersededRevisions(db);
  t.strictSame(revisions.below({ session: 1, eventId: id, revision: 2 }), [2]);
  t.strictSame(revisions.below({ session: 1, eventId: twin, revision: 2 }), [1]);
  t.end();
});

t.test('a revision whose key reaches the file meanwhile is found once', (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const sent = event();
  committer.append(...court(sent, { ...sent, revision: 1 }));
  const revisions = new SupersededRevisions(db);
  const name = { session: 1, eventId: sent.event_id, revision: 1 };
  t.strictSame(revisions.below(name), [1]);
  committer.sealAll();
  t.strictSame(revisions.below(name), [1]);
  t.strictSame(revisions.below({ ...name, revision: 0 }), []);
  t.end();
});
