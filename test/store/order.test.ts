import type { Database } from 'better-sqlite3';
import t from 'tap';
import type { CourtEvent } from '../../src/protocol/event.ts';
import { BATCH_EVENTS, GROUP_EVENTS, ORDER_STEP_EVENTS, READ_CHUNK_ROWS } from '../../src/protocol/limits.ts';
import { isOrderRight } from '../../src/store/order.ts';
import { pruneEvents } from '../../src/store/prune.ts';
import { type ReadEvent, readSession } from '../../src/store/reader.ts';
import { listSessions, sessionId } from '../../src/store/sessions.ts';
import { Store } from '../../src/store/store.ts';
import { temporaryFolder } from '../daemon.ts';
import { event } from '../event.ts';
import { Committer, court, otherConnection, recorder, scratch, unbindable } from './scratch.ts';

const [SAMPLE] = court(event({ payload: {} }));
const NOW_MS = Date.UTC(2026, 2, 14, 15);
const BEFORE_ALL = { beforeMs: Date.now() + 1e9, nowMs: Date.now() + 2e9 };

/** Fresh events whose eots go up and down, several to one eot. */
function batch(sessionName: string, count = BATCH_EVENTS): CourtEvent[] {
  return Array.from({ length: count }, (_, i) => {
    const ms = NOW_MS + ((i * 7919) % 200) * 10;
    const eot = new Date(ms).toISOString();
    return {
      ...SAMPLE!,
      sessionId: sessionName,
      eventId: event().event_id,
      eot,
      eotNs: BigInt(ms) * 1_000_000n,
    };
  });
}

/** In the order of eot, then of arrival. */
function inOrder(sent: readonly CourtEvent[], sessionName: string): string[] {
  const own = sent.filter((each) => each.sessionId === sessionName);
  return own.sort((a, b) => Number(a.eotNs - b.eotNs)).map(({ eventId }) => eventId);
}

function readIds(db: Database, sessionName: string): string[] {
  const chunks = [...readSession(db, sessionId(db, sessionName))];
  return chunks.flatMap(({ events }) => events.map(({ eventId }) => eventId));
}

/** How many events are in the order, and how many are not. */
function state(db: Database): { placed: number; tail: number } {
  const sql = `SELECT (SELECT count(*) FROM eot_order) AS placed,
    (SELECT count(*) FROM event WHERE seq > (SELECT up_to_seq FROM ordered)) AS tail`;
  return db.prepare<[], { placed: number; tail: number }>(sql).get()!;
}

/** Puts all in order that can be. */
function tidy({ appender }: Committer): void {
  while (appender.wantsTidying) appender.tidyStep();
}

t.test('a session is whole and in order at every moment, and the tail stays short', async (t) => {
  const folder = temporaryFolder(t);
  const { on, told } = recorder();
  let store = await Store.open(folder, on);
  t.teardown(() => store.close());
  const look = otherConnection(t, folder);
  const sent: CourtEvent[] = [];
  const seen = new Set<boolean>();
  const batches = (3 * ORDER_STEP_EVENTS) / BATCH_EVENTS;
  for (let i = 0; i < batches; i++) {
    const fresh = batch(i % 3 === 0 ? 'second' : 'first');
    sent.push(...fresh);
    await store.append(fresh);
    if (i === batches / 2) {
      await store.close();
      store = await Store.open(folder, on);
    }
    const { placed, tail } = state(look);
    seen.add(placed > 0 && tail > 0);
    t.equal(placed + tail, sent.length);
    t.ok(tail <= ORDER_STEP_EVENTS + GROUP_EVENTS + BATCH_EVENTS, `a tail of ${tail}`);
    if (i < 2) continue;
    for (const name of ['first', 'second']) {
      const expected = inOrder(sent, name);
      if (readIds(look, name).join() !== expected.join()) t.fail(`${name} after ${sent.length} events`);
      const line = [...listSessions(look)].find(({ session_id }) => session_id === name);
      const edge = (at: number) => sent.find(({ eventId }) => eventId === expected.at(at))!.eot;
      t.match(line, { events: expected.length, first_eot: edge(0), last_eot: edge(-1) });
    }
  }
  t.strictSame([...seen].sort(), [false, true], 'with events in both places, and in one');
  t.ok(isOrderRight(look));
  t.strictSame(told, []);
});

t.test('what the daemon puts in order while a session is read is read once', (t) => {
  const { folder, db } = scratch(t);
  const store = new Committer(db);
  const look = otherConnection(t, folder);
  const sent = [...batch('s', 3 * READ_CHUNK_ROWS), ...batch('s', 3 * READ_CHUNK_ROWS)];
  store.append(...sent);
  const expected = inOrder(sent, 's');
  for (const already of [0, ORDER_STEP_EVENTS - sent.length]) {
    // The second time with half of them in order.
    if (already > 0) store.append(...batch('other', already));
    const chunks = readSession(look, sessionId(look, 's'));
    const ids: string[] = [];
    const take = ({ events }: { events: readonly ReadEvent[] }) =>
      void ids.push(...events.map(({ eventId }) => eventId));
    take(chunks.next().value!);
    const { placed } = state(db);
    const late = already === 0 ? batch('other', ORDER_STEP_EVENTS) : batch('s', 2 * ORDER_STEP_EVENTS);
    store.append(...late);
    if (already > 0) sent.push(...late);
    tidy(store);
    t.ok(state(db).placed >= placed + ORDER_STEP_EVENTS);
    for (const chunk of chunks) take(chunk);
    t.strictSame(ids, expected);
  }
  t.strictSame(readIds(look, 's'), inOrder(sent, 's'));
  t.end();
});

t.test('a reader takes the tail in the moment in which it learns where it begins', (t) => {
  const { folder, db } = scratch(t);
  const store = new Committer(db);
  const look = otherConnection(t, folder);
  const sent = batch('s', ORDER_STEP_EVENTS);
  store.append(...sent);
  const { exec } = look;
  look.exec = (sql) => {
    tidy(store);
    return exec.call(look, sql);
  };
  t.strictSame(readIds(look, 's'), inOrder(sent, 's'));
  t.match(state(db), { placed: ORDER_STEP_EVENTS, tail: 0 });
  t.end();
});

t.test('a prune takes events wherever they are, and a reader goes on behind them', async (t) => {
  const { folder, db } = scratch(t);
  const store = new Committer(db);
  const look = otherConnection(t, folder);
  const kept = batch('s', 10).map((each) => ({
    ...each,
    eot: '2026-03-14T16:00:00Z',
    eotNs: 10n ** 18n * 2n,
  }));
  const old = () => batch('s', ORDER_STEP_EVENTS).map((each) => ({ ...each, type: 'BALL_HIT' as const }));
  store.append(...old());
  tidy(store);
  store.append(...old().slice(0, 4 * READ_CHUNK_ROWS), ...kept);
  t.match(state(db), { placed: ORDER_STEP_EVENTS, tail: 4 * READ_CHUNK_ROWS + kept.length });
  const chunks = readSession(look, sessionId(look, 's'));
  chunks.next();
  const pruned = await pruneEvents(db, { ...BEFORE_ALL, type: 'BALL_HIT' }, () => {});
  t.equal(pruned.events, ORDER_STEP_EVENTS + 4 * READ_CHUNK_ROWS);
  const rest = [...chunks].flatMap(({ events }) => events.map(({ eventId }) => eventId));
  const ids = kept.map(({ eventId }) => eventId);
  t.strictSame(rest, ids, 'what is left');
  t.strictSame(readIds(look, 's'), ids);
  t.match([...listSessions(look)], [{ events: 10, first_eot: kept[0]!.eot }]);
  t.match(state(db), { placed: 0, tail: 10 });
  await pruneEvents(db, BEFORE_ALL, () => {});
  t.strictSame([...listSessions(look)], []);
  t.throws(() => sessionId(look, 's'), /There is no session/);
  t.match(state(db), { placed: 0, tail: 0 });

  const again = batch('s', 2 * ORDER_STEP_EVENTS + 7);
  store.append(...again);
  tidy(store);
  t.match(state(db), { placed: 2 * ORDER_STEP_EVENTS, tail: 7 });
  t.strictSame(readIds(look, 's'), inOrder(again, 's'));
  t.ok(isOrderRight(db));
});

t.test('a session counts its duplicates from the beginning only when all its events are gone', async (t) => {
  const { db } = scratch(t);
  const store = new Committer(db);
  const duplicates = () => db.prepare('SELECT duplicates FROM session').pluck().get();
  const hits = batch('s', ORDER_STEP_EVENTS).map((each) => ({ ...each, type: 'BALL_HIT' as const }));
  store.append(...hits);
  tidy(store);
  const [last] = batch('s', 1);
  store.append(last!);
  store.append(last!);
  await pruneEvents(db, { ...BEFORE_ALL, type: 'BALL_HIT' }, () => {});
  t.equal(duplicates(), 1, 'one is left, in the tail');
  await pruneEvents(db, BEFORE_ALL, () => {});
  t.equal(duplicates(), 0);
});

t.test('a seq that was rolled back, and is given again after a crash, is not taken for one in order', (t) => {
  const { folder, db } = scratch(t);
  const before = new Committer(db);
  const sent = batch('s', ORDER_STEP_EVENTS);
  before.append(...sent);
  t.throws(() => before.append(...batch('s', 100), unbindable(SAMPLE!)));
  tidy(before);
  t.match(state(db), { placed: ORDER_STEP_EVENTS, tail: 0 });
  db.close();
  const { db: reopened } = scratch(t, folder);
  const after = new Committer(reopened);
  const more = batch('s', 50);
  after.append(...more);
  t.match(state(reopened), { placed: ORDER_STEP_EVENTS, tail: 50 });
  t.strictSame(readIds(reopened, 's'), inOrder([...sent, ...more], 's'));
  t.end();
});

t.test('a step that fails loses nothing, and is taken again', (t) => {
  const { folder, db } = scratch(t);
  db.pragma('busy_timeout = 0');
  const store = new Committer(db);
  const other = otherConnection(t, folder);
  const sent = batch('s', ORDER_STEP_EVENTS);
  store.append(...sent);
  other.exec('BEGIN IMMEDIATE');
  t.throws(() => store.appender.tidyStep(), { code: 'SQLITE_BUSY' });
  t.ok(store.appender.wantsTidying);
  t.strictSame(readIds(other, 's'), inOrder(sent, 's'));
  other.exec('ROLLBACK');
  tidy(store);
  t.match(state(db), { placed: ORDER_STEP_EVENTS, tail: 0 });
  t.strictSame(readIds(other, 's'), inOrder(sent, 's'));
  t.end();
});

t.test('an order that does not agree with the events is seen', (t) => {
  const { db } = scratch(t);
  const store = new Committer(db);
  store.append(...batch('s', ORDER_STEP_EVENTS));
  tidy(store);
  store.append(...batch('s', 5));
  t.ok(isOrderRight(db));
  const wrong = [
    'DELETE FROM eot_order WHERE seq = 17',
    'UPDATE eot_order SET eot_ns = eot_ns + 1 WHERE seq = 17',
    'UPDATE eot_order SET session = 2 WHERE seq = 17',
    'UPDATE eot_order SET seq = 1000000 WHERE seq = 17',
    `INSERT INTO eot_order VALUES (1, 1, ${ORDER_STEP_EVENTS + 1})`,
    'UPDATE ordered SET up_to_seq = up_to_seq + 1',
    'UPDATE ordered SET up_to_seq = up_to_seq - 1',
    'DELETE FROM ordered',
    'INSERT INTO ordered SELECT * FROM ordered',
  ];
  for (const sql of wrong) {
    db.exec(`BEGIN; ${sql}`);
    t.notOk(isOrderRight(db), sql);
    db.exec('ROLLBACK');
  }
  t.ok(isOrderRight(db));
  t.end();
});
