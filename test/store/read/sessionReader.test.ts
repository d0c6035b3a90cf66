import type { Database } from 'better-sqlite3';
import t from 'tap';
import { READ_CHUNK_ROWS } from '../../../src/base/limits.ts';
import type { CourtEvent } from '../../../src/protocol/courtEvent.ts';
import { type EventFilter, readSession } from '../../../src/store/read/sessionReader.ts';
import { sessionId } from '../../../src/store/read/sessions.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, otherConnection, scratch } from '../../harness/scratchStore.ts';

const [SAMPLE] = court(event({ payload: {}, session_id: 's' }));
const BEFORE_ALL = { beforeMs: Date.now() + 1e9, nowMs: Date.now() + 2e9 };
const HIT = 'BALL_HIT' as const;

function at(eotNs: bigint, sessionId = 's'): CourtEvent {
  return { ...SAMPLE!, sessionId, eventId: event().event_id, eotNs, eot: `${eotNs}` };
}

/** Fresh events whose eots go up and down, several to one eot. */
function batch(count: number, sessionId = 's'): CourtEvent[] {
  return Array.from({ length: count }, (_, i) => at(BigInt((i * 7919) % 200), sessionId));
}

/** In the order of eot, then of arrival. */
function inOrder(sent: readonly CourtEvent[], sessionId = 's'): string[] {
  const own = sent.filter((each) => each.sessionId === sessionId);
  // Stable, so those of one eot stay in the order of arrival.
  return own
    .sort((a, b) => (a.eotNs < b.eotNs ? -1 : Number(a.eotNs > b.eotNs)))
    .map(({ eventId }) => eventId);
}

function read(db: Database, name = 's', filter?: EventFilter): string[] {
  const chunks = [...readSession(db, sessionId(db, name), filter).chunks];
  return chunks.flat().map(({ eventId }) => eventId);
}

t.test('events come by eot, to the nanosecond, then by arrival, whenever they came, before 1970 too', (t) => {
  const { db } = scratch(t);
  const store = new Committer(db);
  const base = 1_773_500_966_535_000_000n;
  const eots = [
    base + 1n,
    base,
    base,
    -1n,
    -(2n ** 32n),
    -(2n ** 32n) - 1n,
    0n,
    base - 1n,
    2n ** 63n - 2n,
    -(2n ** 63n),
    base,
  ];
  const sent = [...eots, ...eots.toReversed()].map((eotNs) => at(eotNs));
  store.append(...sent.slice(0, 5));
  store.sealAll();
  store.append(...sent.slice(5));
  t.strictSame(read(db), inOrder(sent));
  const from = (from: bigint, to?: bigint) => read(db, 's', { from, to });
  t.strictSame(from(base).length, 10, 'from is inclusive');
  t.strictSame(from(-1n, base).length, 6, 'to is exclusive');
  t.strictSame(from(base + 2n, base), []);
  t.end();
});

t.test('what comes, and moves, while a session is read is left out, and nothing is read twice', (t) => {
  const { folder, db } = scratch(t);
  const store = new Committer(db);
  const look = otherConnection(t, folder);
  const sent: CourtEvent[] = [];
  const add = () => {
    const fresh = [...batch(2 * READ_CHUNK_ROWS), ...batch(READ_CHUNK_ROWS, 'other')];
    sent.push(...fresh);
    store.append(...fresh);
  };
  add();
  for (let round = 0; round < 3; round++) {
    const expected = inOrder(sent);
    const ids: string[] = [];
    for (const events of readSession(look, sessionId(look, 's')).chunks) {
      if (ids.length === 0) add();
      store.sealAll();
      ids.push(...events.map(({ eventId }) => eventId));
    }
    t.strictSame(ids, expected);
  }
  t.end();
});

t.test('a reader of a session continues behind events that a prune deletes', async (t) => {
  const { folder, db } = scratch(t);
  const store = new Committer(db);
  const look = otherConnection(t, folder);
  const hits = batch(8 * READ_CHUNK_ROWS).map((each) => ({ ...each, type: HIT }));
  const kept = batch(10).map((each, i) => ({ ...each, eotNs: 10n ** 18n + BigInt(i) }));
  store.append(...hits.slice(0, 4 * READ_CHUNK_ROWS));
  store.sealAll();
  store.append(...hits.slice(4 * READ_CHUNK_ROWS), ...kept);
  const { chunks } = readSession(look, sessionId(look, 's'));
  chunks.next();
  const pruned = await store.prune({ ...BEFORE_ALL, type: HIT });
  t.equal(pruned.events, hits.length);
  const rest = [...chunks].flat().map(({ eventId }) => eventId);
  t.strictSame(rest, inOrder(kept), 'what is left');
  t.strictSame(read(look), inOrder(kept));
});

t.test('a revision that arrives during the read of a session does not change the result', (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const sent = [
    { ...SAMPLE!, eventId: 'a', revision: 9 },
    ...Array.from({ length: READ_CHUNK_ROWS }, (_, i) => ({ ...SAMPLE!, eventId: `never ${i}` })),
    { ...SAMPLE!, eventId: 'b', revision: 1 },
  ];
  committer.append(...sent);
  const { chunks } = readSession(db, sessionId(db, 's'));
  const first = chunks.next().value ?? [];
  committer.append({ ...SAMPLE!, eventId: 'b', revision: 2 });
  committer.sealAll();
  const rest = [...chunks].flat();
  const current = [...first, ...rest].map(({ eventId, current }) => current && eventId);
  t.strictSame(
    current,
    sent.map(({ eventId }) => eventId),
  );
  t.end();
});
