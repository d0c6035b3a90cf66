import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { readSession } from '../../../src/store/read/sessionReader.ts';
import { sessionId } from '../../../src/store/read/sessions.ts';
import { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../harness/daemon.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, otherConnection, recorder, scratch } from '../../harness/scratchStore.ts';
import { countsAreRight } from '../../harness/storedReader.ts';

/** More are looked at. */
const ORIGINS = 500;
const ALL = { beforeMs: Date.now() + 1e9, nowMs: Date.now() + 2e9 };
const HITS = { ...ALL, type: 'BALL_HIT' };

/** Events that have a source and a session of their own each, as long as they may be. */
function timestamps(count: number, overrides = {}) {
  return Array.from({ length: count }, (_, i) => {
    const name = `${i} `.padEnd(256, 'x');
    return event({ source: name, session_id: name, ...overrides });
  });
}

t.test(
  'a name that was pruned while the daemon runs gets a new id, and is not confused with another name',
  async (t) => {
    const folder = temporaryFolder(t);
    const { on, told } = recorder();
    const store = await Store.open(new DataDirectory(folder), on);
    t.teardown(() => store.close());
    const other = otherConnection(t, folder);
    const hits = court(...timestamps(ORIGINS, { type: 'BALL_HIT' }));
    const kept = court(...timestamps(10, { type: 'BALL_SPEED' }));
    await store.append(hits);
    await store.append(kept);
    t.match(await store.prune(HITS, () => {}), { events: hits.length });
    const count = (table: string) => other.prepare(`SELECT count(*) FROM ${table}`).pluck().get();
    t.strictSame([count('session'), count('origin')], [kept.length, kept.length]);
    // Others in between, so that an id that was used again would be that of another name.
    await store.append(court(...timestamps(10, { session_id: 'new', source: 'new' })));
    const again = hits.toReversed();
    t.strictSame(await store.append(again), { accepted: again.length, duplicates: 0, conflicts: 0 });
    t.match(await store.append(again), { accepted: 0, duplicates: again.length, conflicts: 0 });
    t.match(await store.append(kept), { accepted: 0, duplicates: kept.length, conflicts: 0 });
    for (const sent of [...hits, ...kept]) {
      const read = [...readSession(other, sessionId(other, sent.sessionId))].flatMap(({ events }) => events);
      const found = read.find(({ eventId }) => eventId === sent.eventId);
      if (found?.source !== sent.source) t.fail(`${sent.source} is read as ${found?.source}`);
    }
    t.ok(countsAreRight(other));
    t.strictSame(told, []);
  },
);

t.test('few origins stay as they are: the whole file would be read for them', async (t) => {
  const { db } = scratch(t);
  const store = new Committer(db);
  store.append(...court(...timestamps(ORIGINS)));
  await store.prune(ALL);
  t.equal(db.prepare('SELECT count(*) FROM origin').pluck().get(), ORIGINS);
  t.equal(db.prepare('SELECT count(*) FROM session').pluck().get(), 0);
});
