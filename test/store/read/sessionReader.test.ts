import type { Database } from 'better-sqlite3';
import t from 'tap';
import { READ_CHUNK_BYTES, READ_CHUNK_ROWS, REVISION_MAX } from '../../../src/base/limits.ts';
import type { CourtEvent } from '../../../src/protocol/event.ts';
import { eventRemoval } from '../../../src/store/keep/prune.ts';
import { type ReadEvent, readSession } from '../../../src/store/read/sessionReader.ts';
import { sessionId } from '../../../src/store/read/sessions.ts';
import { event } from '../../harness/events.ts';
import { Committer, court, otherConnection, scratch } from '../../harness/scratchStore.ts';

const [SAMPLE] = court(event({ payload: {} }));

function chunksOf(db: Database): (readonly ReadEvent[])[] {
  return [...readSession(db, sessionId(db, SAMPLE!.sessionId))].map(({ events }) => events);
}

/** Which revision of which event is current, in the order of arrival. */
function marks(events: readonly ReadEvent[]): [eventId: string, revision: number, current: boolean][] {
  const inOrder = events.toSorted((a, b) => a.seq - b.seq);
  return inOrder.map(({ eventId, revision, current }) => [eventId, revision, current]);
}

function expected(sent: readonly CourtEvent[]): ReturnType<typeof marks> {
  const highest = new Map<string, number>();
  for (const { eventId, revision } of sent) {
    highest.set(eventId, Math.max(revision, highest.get(eventId) ?? 0));
  }
  return sent.map(({ eventId, revision }) => [eventId, revision, revision === highest.get(eventId)]);
}

t.test('the highest revision is the current one, however far away it is, and in the file or not', (t) => {
  const { db } = scratch(t);
  const committer = new Committer(db);
  const [revised, untouched] = ['revised', 'untouched'];
  const sent: CourtEvent[] = [];
  // Of another session, it is.
  committer.append({ ...SAMPLE!, sessionId: 'other', eventId: untouched, revision: 7 });
  const append = (eventId: string, revision: number) => {
    const eotNs = SAMPLE!.eotNs + BigInt(sent.length) * 1_000_000_000n;
    sent.push({ ...SAMPLE!, eventId, revision, eotNs });
    committer.append(sent.at(-1)!);
  };
  // Each after more than a chunk of events that are never revised.
  const far = () => {
    const first = sent.length;
    for (let i = 0; i <= READ_CHUNK_ROWS; i++) append(`never ${first + i}`, 0);
  };
  const rounds: [name: string, revisions: readonly number[], isFlushed: boolean][] = [
    ['flushed, all of it', [0, 1, 2], true],
    ['flushed before its last', [3, 1, 5], false],
    ['not flushed', [0, 2, 1], false],
    ['far above 32 bits', [REVISION_MAX - 1, REVISION_MAX, 2 ** 32], true],
  ];
  append('flushed before its last', 2);
  append(revised, 0);
  append(untouched, 0);
  for (const [name, revisions, isFlushed] of rounds) {
    for (const revision of revisions) {
      append(name, revision);
      far();
    }
    append(revised, sent.length);
    if (isFlushed) committer.sealAll();
  }
  const chunks = chunksOf(db);
  t.ok(chunks.length > 9, `${chunks.length} chunks`);
  t.strictSame(marks(chunks.flat()), expected(sent));
  t.end();
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
  const chunks = readSession(db, sessionId(db, SAMPLE!.sessionId));
  const first = chunks.next().value!.events;
  committer.append({ ...SAMPLE!, eventId: 'b', revision: 2 });
  committer.sealAll();
  const rest = [...chunks].flatMap(({ events }) => events);
  t.strictSame(marks([...first, ...rest]), expected(sent));
  t.end();
});

t.test(
  'events of every size come whole and in order, and no chunk is larger than its bound and one event',
  (t) => {
    const { db } = scratch(t);
    const committer = new Committer(db);
    const text = (bytes: number) => `{"t":"${'x'.repeat(bytes - 8)}"}`;
    const sizes = [20, READ_CHUNK_BYTES - 100, READ_CHUNK_BYTES];
    const pairs: (readonly [payload: number, extra: number | null])[] = [
      ...sizes.map((size) => [size, null] as const),
      ...sizes.map((size) => [20, size] as const),
      ...sizes.map((size) => [size, size] as const),
    ];
    const sent = pairs.map(([payload, extra], i) => ({
      ...SAMPLE!,
      eventId: `e${i}`,
      payload: text(payload),
      extra: extra === null ? null : text(extra),
    }));
    committer.append(...sent);
    const chunks = chunksOf(db);
    const read = chunks.flat().map(({ eventId, payload, extra }) => ({ eventId, payload, extra }));
    t.strictSame(
      read,
      sent.map(({ eventId, payload, extra }) => ({ eventId, payload, extra })),
    );
    for (const chunk of chunks) {
      const bytes = chunk.map(({ payload, extra }) => payload.length + (extra?.length ?? 0));
      const withoutLast = bytes.slice(0, -1).reduce((sum, each) => sum + each, 0);
      t.ok(withoutLast <= READ_CHUNK_BYTES, `${bytes}`);
    }
    t.end();
  },
);

t.test('events that come while a read begins, and a prune of what it has read, are no damage', (t) => {
  const { folder, db } = scratch(t);
  const committer = new Committer(db);
  const come = () => committer.append(...court(event(), event()));
  come();
  const reader = otherConnection(t, folder);
  const session = sessionId(reader, SAMPLE!.sessionId);
  const { exec } = reader;
  reader.exec = (sql) => {
    come();
    return exec.call(reader, sql);
  };
  const read = readSession(reader, session);
  t.equal(read.next().value!.events.length, 4);
  db.transaction(() => eventRemoval(db)([{ seq: 1, session }]))();
  t.ok(read.next().done);
  t.end();
});
