import fc from 'fast-check';
import t from 'tap';
import type { CourtEvent } from '../../src/protocol/event.ts';
import { keyHash } from '../../src/store/keyHash.ts';
import { openDatabase } from '../../src/store/open.ts';
import { temporaryFolder } from '../daemon.ts';
import { event } from '../event.ts';
import { Committer, collidingIds, court, keyState, unbindable } from './scratch.ts';

const SECRET = Buffer.alloc(8, 7);
const IDS = ['a', 'b', 'c', ...collidingIds(keyHash(SECRET))];
const EVENTS = ['first', 'second'].flatMap((session_id) =>
  IDS.flatMap((event_id) => [0, 1].map((revision) => court(event({ session_id, event_id, revision }))[0]!)),
);

/** Events by their places in EVENTS. */
type Places = readonly number[];
type Step =
  | { readonly is: 'append'; readonly requests: readonly Places[]; readonly isBroken: boolean }
  | { readonly is: 'prune'; readonly places: Places }
  | { readonly is: 'seal' }
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
  { weight: 3, arbitrary: fc.constant({ is: 'seal' } as const) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('prune' as const), places: places(8) }) },
  { weight: 1, arbitrary: fc.constant({ is: 'start' } as const) },
);

/** A store, and beside it what must be in it. */
class Pair {
  readonly #folder: string;
  readonly #stored = new Set<number>();
  #db;
  #committer: Committer;

  constructor(folder: string) {
    this.#folder = folder;
    this.#db = openDatabase(folder, { create: true });
    this.#db.pragma('synchronous = OFF');
    this.#db.prepare('UPDATE sealed SET secret = ?').run(SECRET);
    this.#committer = new Committer(this.#db);
  }

  do(step: Step): void {
    if (step.is === 'append') for (const request of step.requests) this.#append(request, step.isBroken);
    if (step.is === 'prune') this.#prune(step.places);
    if (step.is === 'seal' && this.#committer.appender.keys.count > 0)
      this.#committer.appender.keys.sealStep();
    if (step.is === 'start') {
      this.#db.close();
      this.#db = openDatabase(this.#folder);
      this.#committer = new Committer(this.#db);
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

  /** As prune.ts does, up to the sweep of the keys. */
  #prune(places: Places): void {
    const find = this.#db.prepare<[string, string, number], { seq: number; session: number }>(
      'SELECT e.seq, e.session FROM event e JOIN session s ON s.id = e.session WHERE s.name = ? AND event_id = ? AND revision = ?',
    );
    for (const place of places) {
      const { sessionId, eventId, revision } = EVENTS[place]!;
      const row = find.get(sessionId, eventId, revision);
      if (row === undefined) continue;
      this.#db.prepare('DELETE FROM event WHERE seq = ?').run(row.seq);
      this.#db
        .prepare('UPDATE session SET pruned_seq = max(pruned_seq, ?) WHERE id = ?')
        .run(row.seq, row.session);
      this.#stored.delete(place);
    }
  }

  /** @throws where the store does not hold exactly that, each event once. */
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
  }

  close(): void {
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
  'whatever is appended, undone, sealed, pruned and started again: each event is there once, and known',
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
      { numRuns: 150 },
    );
    t.end();
  },
);
