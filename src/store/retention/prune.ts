import type { Database } from 'better-sqlite3';
import { PRUNE_STEP_KEYS, PRUNE_STEP_MS, PRUNE_STEP_ROWS } from '../../base/limits.ts';
import { lostBounds } from '../read/sessionBounds.ts';
import { DanglingKeys } from './danglingKeys.ts';
import { ExpiredEventFinder, type ExpiredEvents } from './expiredEvents.ts';
import { PruneSteps } from './pruneSteps.ts';
import { unusedNames } from './unusedNames.ts';

/** Events after which a prune on a full disk gives space back, so that cameras are served before its end. */
const PRUNE_SHORT_EVENTS = 20_000;
/** Pages that one step gives back to the file system, from and to: as many as take about PRUNE_STEP_MS. */
const PRUNE_PAGES = { least: 8, most: 512 } as const;

export interface Pruned {
  readonly events: number;
  /** Sessions that they were of. */
  readonly sessions: number;
  /** Given back to the file system. */
  readonly bytes: number;
}

/** How far it is; `reader`: another program reads for so long that the prune waits for it. */
export type PruneProgress = (doing: 'events' | 'keys' | 'pages' | 'reader', count: number) => void;

/**
 * Deletes old events, then the keys that led to them, then gives the free pages back: all in transactions of a few
 * milliseconds with pauses between them, so that ingest does not notice. It can be ended at any moment: what is left to
 * do is noted in the same transactions (`session.unswept`), and the next prune does it.
 *
 * The keys come second, because they are in the order of their hashes: deleted with its event, each would dirty a page of its
 * own. Until then they lead nowhere, which appendEvents.ts bears. Names that no event uses go as well.
 */
export async function pruneEvents(db: Database, which: ExpiredEvents, on: PruneProgress): Promise<Pruned> {
  // No fsync while a step holds the lock. The daemon's next commit syncs what came before it, and what a power cut undoes
  // of a prune is deleted again.
  db.pragma('synchronous = NORMAL');
  const pruner = new Pruner(db, on);
  const { events, sessions } = await pruner.deleteEvents(which);
  await pruner.forgetNames();
  await pruner.sweepKeys();
  await pruner.findBounds();
  await pruner.giveBack();
  return { events, sessions, bytes: pruner.givenBytes };
}

/** What `pruneEvents` would delete now, and of how many events. */
export function countOld(
  db: Database,
  which: ExpiredEvents,
): { events: number; sessions: number; of: number } {
  const finder = new ExpiredEventFinder(db, which);
  const sessions = new Set<number>();
  let events = 0;
  for (const list of finder.lists()) {
    events += list.length;
    for (const { session } of list) sessions.add(session);
  }
  return { events, sessions: sessions.size, of: finder.events };
}

class Pruner {
  readonly #db: Database;
  readonly #on: PruneProgress;
  readonly #steps: PruneSteps;
  /** To the file system. */
  givenBytes = 0;

  constructor(db: Database, on: PruneProgress) {
    this.#db = db;
    this.#on = on;
    this.#steps = new PruneSteps(db, () => on('reader', 0));
  }

  async deleteEvents(which: ExpiredEvents): Promise<{ events: number; sessions: number }> {
    const remove = this.#db.prepare<[number]>('DELETE FROM event WHERE seq = ?');
    const forget = this.#db.prepare<[number, number]>('DELETE FROM conflict WHERE session = ? AND seq = ?');
    const note = this.#db.prepare<[number, number, number]>(
      'UPDATE session SET events = events - ?, unswept = max(unswept, ?) WHERE id = ?',
    );
    const sessions = new Set<number>();
    let [events, givenBackAt] = [0, 0];
    for (const old of new ExpiredEventFinder(this.#db, which).lists()) {
      await this.#steps.runAll(old, PRUNE_STEP_ROWS, (steps) => {
        const gone = new Map<number, { events: number; last: number }>();
        for (const { seq, session } of steps) {
          const { events, last } = gone.get(session) ?? { events: 0, last: 0 };
          gone.set(session, { events: events + remove.run(seq).changes, last: Math.max(seq, last) });
          forget.run(session, seq);
        }
        for (const [session, { events, last }] of gone) note.run(events, last, session);
        return () => {
          for (const [session, { events: some }] of gone) {
            events += some;
            sessions.add(session);
          }
        };
      });
      this.#on('events', events);
      if (!this.#steps.isShort || events - givenBackAt < PRUNE_SHORT_EVENTS) continue;
      await this.giveBack();
      givenBackAt = events;
    }
    return { events, sessions: sessions.size };
  }

  /** In every session that needs it, also after a prune that was cut short. */
  async sweepKeys(): Promise<void> {
    const sweep = new DanglingKeys(this.#db);
    let keys = 0;
    for (const list of sweep.lists()) {
      await this.#steps.runAll(list, PRUNE_STEP_KEYS, (steps) => {
        let gone = 0;
        for (const step of steps) gone += sweep.run(step);
        return () => {
          keys += gone;
        };
      });
      this.#on('keys', keys);
    }
  }

  /** Before the sweep: a session without events needs none. */
  async forgetNames(): Promise<void> {
    for (const forget of unusedNames(this.#db)) await this.#steps.run(forget);
  }

  /** Of the sessions whose first or last event is gone. */
  async findBounds(): Promise<void> {
    for (const note of lostBounds(this.#db)) await this.#steps.run(note);
  }

  /** The file itself gets shorter when the log is brought into it. */
  async giveBack(): Promise<void> {
    const number = (name: string) => this.#db.pragma(name, { simple: true }) as number;
    let size: number = PRUNE_PAGES.least;
    for (let isLeft = number('freelist_count') > 0; isLeft; ) {
      let pages = 0;
      const tookMs = await this.#steps.run(() => {
        const before = number('page_count');
        // Not `simple`: each page is a row of the answer, and the first one would be all.
        this.#db.pragma(`incremental_vacuum(${size})`);
        pages = before - number('page_count');
        isLeft = pages > 0 && number('freelist_count') > 0;
      });
      this.givenBytes += pages * number('page_size');
      size = Math.round(tookMs > PRUNE_STEP_MS ? size / 2 : size * 1.25);
      size = Math.min(Math.max(size, PRUNE_PAGES.least), PRUNE_PAGES.most);
      this.#on('pages', this.givenBytes);
    }
    await this.#steps.checkpoint();
  }
}
