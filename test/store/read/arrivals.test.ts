import type { Database } from 'better-sqlite3';
import t from 'tap';
import { type ArrivalFilter, arrivalsAfter, beforeNewest } from '../../../src/store/read/arrivals.ts';
import { event, events } from '../../harness/events.ts';
import { Committer, court, scratch, unbindable } from '../../harness/scratchStore.ts';

/** Reads on until nothing is left. */
function readAll(db: Database, seq = 0, limit = 7, filter: ArrivalFilter = {}) {
  const chunks = [];
  for (let after = seq, isLast = false; !isLast; ) {
    const chunk = arrivalsAfter(db, after, limit, filter);
    chunks.push(chunk);
    ({ upTo: after, isLast } = chunk);
  }
  return chunks;
}

function ids(chunks: ReturnType<typeof readAll>): string[] {
  return chunks.flatMap(({ events }) => events.map(({ eventId }) => eventId));
}

t.test('every event after a seq, once, in the order of arrival, whatever holes there are', (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const sent = court(...events(40));
  committer.append(...sent.slice(0, 20));
  committer.append(...sent.slice(5, 10));
  t.throws(() => committer.append(unbindable(court(event())[0]!)));
  committer.append(...sent.slice(20));
  const all = readAll(db);
  t.strictSame(
    ids(all),
    sent.map(({ eventId }) => eventId),
  );
  const seqs = all.flatMap(({ events }) => events.map(({ seq }) => seq));
  t.ok(seqs.at(-1)! > 40, 'copies and what was rolled back have left holes');
  t.strictSame(
    seqs,
    seqs.toSorted((a, b) => a - b),
  );
  t.ok(all.every(({ events }) => events.length <= 7));
  for (const [i, seq] of seqs.entries()) {
    t.strictSame(
      ids(readAll(db, seq, 500)),
      sent.slice(i + 1).map(({ eventId }) => eventId),
    );
  }
  const [{ sessionId, payload, receivedMs, extra }] = [all[0]!.events[0]!];
  t.match({ sessionId, payload, extra }, { sessionId: 'session-1', payload: sent[0]!.payload, extra: null });
  t.ok(Math.abs(Date.now() - receivedMs) < 60_000);
  t.end();
});

t.test('the newest of a filter are found from the end, a bounded look at a time', (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  t.equal(beforeNewest(db, 10, {}), 0, 'none');
  const rare = court(...events(3, { court_id: 'rare' }));
  committer.append(...rare);
  const many = court(...events(500));
  committer.append(...many);
  const before = (count: number, filter: ArrivalFilter = {}) => beforeNewest(db, count, filter);
  t.equal(before(10), 493);
  t.equal(before(2, { courtId: 'rare' }), 1);
  t.equal(before(10, { courtId: 'rare' }), 0, 'fewer than asked for: all');
  t.strictSame(
    ids(readAll(db, 1, 500, { courtId: 'rare' })),
    rare.slice(1).map(({ eventId }) => eventId),
  );
  t.end();
});
