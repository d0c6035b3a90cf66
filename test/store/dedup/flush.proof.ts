import t from 'tap';
import { BATCH_EVENTS, REVISION_MAX } from '../../../src/base/limits.ts';
import type { CourtEvent } from '../../../src/protocol/event.ts';
import { MEMTABLE_KEYS } from '../../../src/store/dedup/dedupIndex.ts';
import { FLUSH_STEP_KEYS } from '../../../src/store/dedup/memtable.ts';
import { findRevisions } from '../../../src/store/read/eventRevisions.ts';
import { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { court, type KeyState, keyState, otherConnection, recorder } from '../../harness/scratchStore.ts';

/** Fresh events of one session, without the way through JSON for each of so many. */
function batch(sessionId: string): CourtEvent[] {
  const [sample] = court(event({ session_id: sessionId, payload: {} }));
  return Array.from({ length: BATCH_EVENTS }, (_, i) => ({
    ...sample!,
    eventId: event().event_id,
    revision: [0, 0, 2 ** 32, Date.now(), REVISION_MAX][i % 5]!,
  }));
}

const ALL_NEW = { accepted: BATCH_EVENTS, duplicates: 0, conflicts: 0 };
const ALL_KNOWN = { accepted: 0, duplicates: BATCH_EVENTS, conflicts: 0 };
const WHOLE = { unknown: 0, astray: 0 };

t.test('keys move to the file when there are too many, and every key is known all the while', async (t) => {
  const folder = temporaryFolder(t);
  const { on, told } = recorder();
  let store = await Store.open(folder, on);
  t.teardown(() => store.close());
  const look = otherConnection(t, folder);
  const state = (): KeyState => keyState(look);
  const flushed = look.prepare<[], number>('SELECT count(*) FROM key').pluck();
  const flushedUpTo = look.prepare<[], number>('SELECT up_to_seq FROM flushed').pluck();

  const sent: CourtEvent[][] = [];
  const add = async (session: string) => {
    const fresh = batch(session);
    sent.push(fresh);
    const counts = await store.append(fresh);
    if (counts.accepted !== BATCH_EVENTS) t.strictSame(counts, ALL_NEW);
  };
  /** Sends batches again; in the same order each time, spread over all that was sent. */
  const resend = async (every: number) => {
    for (let i = 0; i < sent.length; i += every) {
      const counts = await store.append(sent[i]!);
      if (counts.duplicates !== BATCH_EVENTS) t.match(counts, ALL_KNOWN, `batch ${i}`);
    }
  };
  const reopen = async () => {
    await store.close();
    store = await Store.open(folder, on);
  };

  // A late camera adds to "first" while "second" is played.
  const batches = MEMTABLE_KEYS / BATCH_EVENTS - 1;
  for (let i = 0; i < batches; i++) await add(i < batches / 2 || i % 20 === 0 ? 'first' : 'second');
  await resend(40);
  const all = MEMTABLE_KEYS - BATCH_EVENTS;
  t.match(state(), { events: all, flushed: 0, unflushed: all, twice: 0, ...WHOLE }, 'before');

  await add('second');
  await add('first');
  while (flushed.get() === 0) await resend(400);
  const during = state();
  t.match(during, { events: all + 2 * BATCH_EVENTS, unflushed: all + 2 * BATCH_EVENTS, ...WHOLE });
  t.ok(
    during.flushed >= FLUSH_STEP_KEYS && during.flushed < MEMTABLE_KEYS / 2,
    `under way: ${during.flushed} keys`,
  );
  t.equal(during.twice, during.flushed);

  // Closed in the middle: the start reads all of them back, and begins again.
  await reopen();
  t.match(state(), during, 'partly flushed');
  for (const known of [sent[0]!, sent.at(-1)!]) t.match(await store.append(known), ALL_KNOWN);
  await resend(20);
  while (flushedUpTo.get() === 0) await resend(400);
  t.match(state(), { events: during.events, flushed: during.events, unflushed: 0, ...WHOLE }, 'after');

  // A flushed session that goes on: both places are asked.
  const both = batch('first');
  t.match(await store.append([...both.slice(0, 250), ...sent[0]!.slice(0, 250)]), {
    accepted: 250,
    duplicates: 250,
    conflicts: 0,
  });
  await reopen();
  await resend(1);
  t.match(await store.append(both), { accepted: 250, duplicates: 250 });
  t.match(state(), { events: during.events + BATCH_EVENTS, ...WHOLE });
  for (const { sessionId, eventId } of [sent[0]![0]!, sent.at(-1)![7]!, both[0]!]) {
    t.equal(findRevisions(look, sessionId, eventId).length, 1, 'found by event show');
  }
  t.equal(look.prepare('SELECT count(DISTINCT event_id) FROM event').pluck().get(), state().events);
  t.strictSame(told, []);
});
