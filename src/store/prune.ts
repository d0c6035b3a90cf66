import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import {
  PRUNE_LOG_FRAMES,
  PRUNE_LOG_WAIT_MS,
  PRUNE_PAGES,
  PRUNE_PAUSE_MS,
  PRUNE_STEP_KEYS,
  PRUNE_STEP_MS,
  PRUNE_STEP_ROWS,
  PRUNE_TRIES,
} from '../protocol/limits.ts';
import type { LogState } from './checkpoint.ts';
import { failureKind } from './failure.ts';
import { OldEventFinder, type OldEvents } from './old.ts';
import { lostEdges } from './sessionEdges.ts';
import { Sweep } from './sweep.ts';
import { unusedNames } from './unusedNames.ts';

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
 * own. Until then they lead nowhere, which append.ts bears. Names that no event uses go as well.
 */
export async function pruneEvents(db: Database, which: OldEvents, on: PruneProgress): Promise<Pruned> {
  // No fsync while a step holds the lock. The daemon's next commit syncs what came before it, and what a power cut undoes
  // of a prune is deleted again.
  db.pragma('synchronous = NORMAL');
  const pruner = new Pruner(db, on);
  const { events, sessions } = await pruner.deleteEvents(which);
  await pruner.forgetNames();
  await pruner.sweepKeys();
  await pruner.findEdges();
  return { events, sessions, bytes: await pruner.giveBack() };
}

/** What `pruneEvents` would delete now, and of how many events. */
export function countOld(db: Database, which: OldEvents): { events: number; sessions: number; of: number } {
  const finder = new OldEventFinder(db, which);
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

  constructor(db: Database, on: PruneProgress) {
    this.#db = db;
    this.#on = on;
  }

  async deleteEvents(which: OldEvents): Promise<{ events: number; sessions: number }> {
    const remove = this.#db.prepare<[number]>('DELETE FROM event WHERE seq = ?');
    const forget = this.#db.prepare<[number, number]>('DELETE FROM conflict WHERE session = ? AND seq = ?');
    const note = this.#db.prepare<[number, number, number]>(
      'UPDATE session SET events = events - ?, unswept = max(unswept, ?) WHERE id = ?',
    );
    const sessions = new Set<number>();
    let events = 0;
    for (const old of new OldEventFinder(this.#db, which).lists()) {
      await this.#inSteps(old, PRUNE_STEP_ROWS, (steps) => {
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
    }
    return { events, sessions: sessions.size };
  }

  /** In every session that needs it, also after a prune that was cut short. */
  async sweepKeys(): Promise<void> {
    const sweep = new Sweep(this.#db);
    let keys = 0;
    for (const list of sweep.lists()) {
      await this.#inSteps(list, PRUNE_STEP_KEYS, (steps) => {
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
    for (const forget of unusedNames(this.#db)) await this.#step(forget);
  }

  /** Of the sessions whose first or last event is gone. */
  async findEdges(): Promise<void> {
    for (const note of lostEdges(this.#db)) await this.#step(note);
  }

  /** @returns bytes. The file itself gets shorter when the log is brought into it. */
  async giveBack(): Promise<number> {
    const number = (name: string) => this.#db.pragma(name, { simple: true }) as number;
    let [given, size]: [number, number] = [0, PRUNE_PAGES.least];
    for (let isLeft = number('freelist_count') > 0; isLeft; ) {
      let pages = 0;
      const tookMs = await this.#step(() => {
        const before = number('page_count');
        // Not `simple`: each page is a row of the answer, and the first one would be all.
        this.#db.pragma(`incremental_vacuum(${size})`);
        pages = before - number('page_count');
        isLeft = pages > 0 && number('freelist_count') > 0;
      });
      given += pages * number('page_size');
      size = Math.round(tookMs > PRUNE_STEP_MS ? size / 2 : size * 1.25);
      size = Math.min(Math.max(size, PRUNE_PAGES.least), PRUNE_PAGES.most);
      this.#on('pages', given);
    }
    // Beside others: it waits for nobody, and nobody for it.
    this.#db.pragma('wal_checkpoint(PASSIVE)');
    return given;
  }

  /**
   * Works through a list in transactions that end when they have taken their time.
   * @param work @returns what is to be counted once it is committed: it may be done again.
   */
  async #inSteps<Item>(
    items: readonly Item[],
    most: number,
    work: (items: Iterable<Item>) => () => void,
  ): Promise<void> {
    for (let at = 0; at < items.length; ) {
      let next = at;
      let committed = () => {};
      await this.#step(() => {
        next = at;
        const until = performance.now() + PRUNE_STEP_MS;
        committed = work(
          (function* () {
            while (next < items.length && next - at < most) {
              yield items[next++]!;
              if (performance.now() > until) return;
            }
          })(),
        );
      });
      committed();
      at = next;
    }
  }

  /** One transaction, and a pause. @returns how long it held the lock, in milliseconds. */
  async #step(work: () => void): Promise<number> {
    await this.#noLongReader();
    const transaction = this.#db.transaction(() => {
      const startedAt = performance.now();
      work();
      return startedAt;
    });
    for (let tries = 1; ; tries++) {
      try {
        const tookMs = performance.now() - transaction.immediate();
        await sleep(Math.max(PRUNE_PAUSE_MS, 2 * tookMs));
        return tookMs;
      } catch (error) {
        if (failureKind(error) !== 'busy' || tries >= PRUNE_TRIES) throw error;
        await sleep(PRUNE_PAUSE_MS);
      }
    }
  }

  /** Beside a reader that does not end, all that a prune writes stays in the log, until cameras are refused: it waits instead. */
  async #noLongReader(): Promise<void> {
    const framesLeft = (mode: 'NOOP' | 'PASSIVE') => {
      const [{ log, checkpointed }] = this.#db.pragma(`wal_checkpoint(${mode})`) as [LogState];
      return log - checkpointed;
    };
    if (framesLeft('NOOP') < PRUNE_LOG_FRAMES) return;
    for (let waits = 0; framesLeft('PASSIVE') >= PRUNE_LOG_FRAMES; waits++) {
      this.#on('reader', waits);
      await sleep(PRUNE_LOG_WAIT_MS);
    }
  }
}
