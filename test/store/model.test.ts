import path from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { REVISION_MAX } from '../../src/base/limits.ts';
import type { CourtEvent } from '../../src/protocol/courtEvent.ts';
import { openDatabase } from '../../src/store/db/openDatabase.ts';
import { sessionCounter } from '../../src/store/db/sessionCounter.ts';
import { KEY_LIMITS } from '../../src/store/db/sizes.ts';
import { deleteEmptySessions, eventRemoval, keysWithoutEvent } from '../../src/store/keep/pruneEvents.ts';
import { checkConsistency } from '../../src/store/keep/verifyDatabase.ts';
import { type ReadEvent, readSession } from '../../src/store/read/sessionReader.ts';
import { listSessions, lostBounds, type SessionLine, sessionId } from '../../src/store/read/sessions.ts';
import { temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { Committer, court, keyState, unbindable } from '../harness/scratchStore.ts';
import { countsAreRight } from '../harness/storedReader.ts';

const IDS = ['a', 'b', 'c', 'd', 'e'];
/** A step of a move leaves some of them. */
Object.assign(KEY_LIMITS, { move: 5, most: 1_000, step: 4 });
/** Two differ above 32 bits only; one is a time in milliseconds. */
const REVISIONS = [0, 2 ** 32, 1_773_500_966_535, REVISION_MAX];
/** Names that only one or two events have, so that they come and go; and eots in another order than that of their places. */
const EVENTS = ['first', 'second', 'third'].flatMap((session_id, i) =>
  IDS.flatMap((event_id, j) =>
    REVISIONS.map((revision, k) => {
      const eot = `2026-03-14T15:09:2${(7 * i + 3 * j + k) % 5}Z`;
      return court(event({ session_id, event_id, revision, eot, source: `camera ${i} ${j % 3}` }))[0]!;
    }),
  ),
);

/** Events by their places in EVENTS. */
type Places = readonly number[];
type Step =
  | { readonly is: 'append'; readonly requests: readonly Places[]; readonly isBroken: boolean }
  | { readonly is: 'prune'; readonly places: Places }
  | { readonly is: 'tidy' }
  | { readonly is: 'move' }
  | { readonly is: 'count' }
  | { readonly is: 'start' };

const places = (maxLength: number) => fc.array(fc.nat(EVENTS.length - 1), { maxLength });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      is: fc.constant('append' as const),
      requests: fc.array(places(25), { minLength: 1, maxLength: 3 }),
      isBroken: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.constant({ is: 'move' } as const) },
  { weight: 1, arbitrary: fc.constant({ is: 'count' } as const) },
  { weight: 2, arbitrary: fc.record({ is: fc.constant('prune' as const), places: places(30) }) },
  { weight: 2, arbitrary: fc.constant({ is: 'tidy' } as const) },
  { weight: 1, arbitrary: fc.constant({ is: 'start' } as const) },
);

/** Its session has counted a new event before the keys of the deleted one were swept: one key is left (ARCHITECTURE.md#duplicates). */
const REFILLED: Step[] = [
  { is: 'append', requests: [[22]], isBroken: false },
  { is: 'move' },
  { is: 'prune', places: [22] },
  { is: 'append', requests: [[20]], isBroken: false },
  { is: 'count' },
  { is: 'tidy' },
  { is: 'append', requests: [[22]], isBroken: false },
  { is: 'move' },
  { is: 'start' },
  { is: 'append', requests: [[22]], isBroken: false },
];

/** A store, and the events that must be in it. */
class Pair {
  readonly #folder: string;
  /** In the order of arrival. */
  readonly #stored = new Set<number>();
  #db;
  /** Of another process, such as a reader. */
  #other: Database.Database;
  #committer: Committer;

  constructor(folder: string) {
    this.#folder = folder;
    this.#db = openDatabase(new DataDirectory(folder), { create: true });
    this.#db.pragma('synchronous = OFF');
    this.#committer = new Committer(this.#db);
    this.#other = new Database(path.join(folder, 'courtd.db'));
  }

  do(step: Step): void {
    if (step.is === 'append') for (const request of step.requests) this.#append(request, step.isBroken);
    if (step.is === 'prune') this.#prune(step.places);
    if (step.is === 'tidy') this.#tidy();
    if (step.is === 'move') this.#db.transaction(() => this.#committer.appender.keys.moveStep())();
    if (step.is === 'count') this.#db.transaction(sessionCounter(this.#db))();
    if (step.is === 'start') {
      this.close();
      this.#db = openDatabase(new DataDirectory(this.#folder));
      this.#committer = new Committer(this.#db);
      this.#other = new Database(path.join(this.#folder, 'courtd.db'));
    }
  }

  #append(request: Places, isBroken: boolean): void {
    const events = request.map((place) => EVENTS[place]!);
    if (isBroken) {
      const broken = unbindable(court(event())[0] as CourtEvent);
      if (fails(() => this.#committer.append(...events, broken))) return;
      throw new Error('was not undone');
    }
    const before = this.#stored.size;
    for (const place of request) this.#stored.add(place);
    const accepted = this.#stored.size - before;
    const expected = { accepted, duplicates: request.length - accepted, conflicts: 0 };
    const counts = this.#committer.append(...events);
    if (JSON.stringify(counts) !== JSON.stringify(expected)) {
      throw new Error(`${JSON.stringify(counts)}, not ${JSON.stringify(expected)}`);
    }
  }

  #prune(places: Places): void {
    const find = this.#db.prepare<[string, string, number], number>(
      'SELECT e.seq FROM event e JOIN session s ON s.id = e.session WHERE s.name = ? AND event_id = ? AND revision = ?',
    );
    const remove = eventRemoval(this.#db);
    for (const place of new Set(places)) {
      const { sessionId, eventId, revision } = EVENTS[place]!;
      const seq = find.pluck().get(sessionId, eventId, revision);
      if (seq === undefined) continue;
      this.#db.transaction(() => remove([seq]))();
      this.#stored.delete(place);
    }
  }

  /** The rest of a prune: names, keys, and the first and the last of each session. */
  #tidy(): void {
    const { step } = this.#committer.steps;
    const swept = this.#db.prepare('SELECT id FROM session WHERE first_ns IS NULL').pluck().all();
    for (const remove of keysWithoutEvent(this.#db)) step(remove);
    step(() => deleteEmptySessions(this.#db, this.#committer.steps));
    for (const note of lostBounds(this.#db)) step(note);
    const lost = 'SELECT count(*) FROM session WHERE events > 0 AND (first_ns IS NULL OR last_ns IS NULL)';
    if (this.#db.prepare(lost).pluck().get() !== 0) throw new Error('the first and the last are not noted');
    const left =
      'SELECT count(*) FROM key WHERE session IN (SELECT value FROM json_each(?)) AND seq NOT IN (SELECT seq FROM event)';
    const keys = this.#db.prepare(left).pluck().get(JSON.stringify(swept));
    if (keys !== 0) throw new Error(`${keys} keys lead nowhere`);
    const { withoutKey, astray } = checkConsistency(this.#db, () => {});
    if (withoutKey + astray > 0) throw new Error(`${withoutKey} are not known, ${astray} astray`);
  }

  /** @throws if the store does not hold exactly these events, each once. */
  check(): void {
    const rows = this.#db.prepare<[], string>(
      "SELECT session_id || ' ' || event_id || ' ' || revision FROM events",
    );
    const stored = rows.pluck().all().sort();
    const expected = [...this.#stored].map((place) => {
      const { sessionId, eventId, revision } = EVENTS[place]!;
      return `${sessionId} ${eventId} ${revision}`;
    });
    if (stored.join() !== expected.sort().join()) throw new Error(`${stored} are stored, not ${expected}`);
    const { unknown } = keyState(this.#db);
    if (unknown > 0) throw new Error(`${unknown} are not known`);
    if (!countsAreRight(this.#db)) throw new Error('a session has counted wrongly');
    const lines = new Map(listSessions(this.#other).map((line) => [line.session_id, line]));
    for (const name of new Set(EVENTS.map(({ sessionId }) => sessionId)))
      this.#checkSession(name, lines.get(name));
  }

  /** What is read of it, and reported of it. */
  #checkSession(name: string, line: SessionLine | undefined): void {
    const places = [...this.#stored].filter((place) => EVENTS[place]!.sessionId === name);
    const text = ({ eventId, revision, eot, source }: CourtEvent | ReadEvent) =>
      [eventId, revision, eot, source].join(' ');
    // Stable, so those of one eot stay in the order of arrival.
    const sorted = places.map((place) => EVENTS[place]!).sort((a, b) => Number(a.eotNs - b.eotNs));
    const told = line && [line.events, line.first_eot, line.last_eot];
    const expected = sorted.length === 0 ? undefined : [sorted.length, sorted[0]!.eot, sorted.at(-1)!.eot];
    if (String(told) !== String(expected)) throw new Error(`${name}: ${told} are told, not ${expected}`);
    if (sorted.length === 0) return;
    const chunks = [...readSession(this.#other, sessionId(this.#other, name)).chunks];
    const read = chunks.flat().map(text).join();
    if (read !== sorted.map(text).join())
      throw new Error(`${name}: ${read} are read, not ${sorted.map(text)}`);
    const highest = new Map<string, number>();
    for (const { eventId, revision } of sorted)
      highest.set(eventId, Math.max(revision, highest.get(eventId) ?? 0));
    for (const { eventId, revision, current } of chunks.flat())
      if (current !== (revision === highest.get(eventId)))
        throw new Error(`${name}: ${eventId} ${revision} is${current ? '' : ' not'} current`);
  }

  close(): void {
    this.#other.close();
    this.#db.close();
  }
}

function fails(work: () => unknown): boolean {
  try {
    work();
    return false;
  } catch {
    return true;
  }
}

t.test(
  'after any appends, rollbacks, moves, prunes and restarts each event is stored once, known, and read in order',
  (t) => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 30 }), (steps) => {
        const pair = new Pair(temporaryFolder(t));
        try {
          for (const step of steps) pair.do(step);
          pair.check();
        } finally {
          pair.close();
        }
      }),
      { numRuns: 30, examples: [[REFILLED]] },
    );
    t.end();
  },
);
