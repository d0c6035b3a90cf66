import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import {
  PRUNE_PAGES,
  PRUNE_PAUSE_MS,
  PRUNE_STEP_MS,
  PRUNE_STEP_ROWS,
  PRUNE_TRIES,
} from '../protocol/limits.ts';
import { failureKind } from './failure.ts';
import { type OldEvent, type OldEvents, oldEvents } from './old.ts';
import { lostEdges } from './sessionEdges.ts';
import { deadKeys } from './sweep.ts';
import { unusedNames } from './unusedNames.ts';

export interface Pruned {
  readonly events: number;
  /** Sessions that they were of. */
  readonly sessions: number;
  /** Given back to the file system. */
  readonly bytes: number;
}

/** How far it is. */
export type PruneProgress = (doing: 'events' | 'keys' | 'pages', count: number) => void;

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
      'UPDATE session SET events = events - ?, pruned_seq = max(pruned_seq, ?), unswept = 1 WHERE id = ?',
    );
    const sessions = new Set<number>();
    let events = 0;
    for (const old of oldEvents(this.#db, which)) {
      await this.#inSteps(old, (steps) => {
        const gone = new Map<number, { events: number; last: number }>();
        for (const { seq, session } of steps) {
          const { changes } = remove.run(seq);
          events += changes;
          forget.run(session, seq);
          gone.set(session, { events: (gone.get(session)?.events ?? 0) + changes, last: seq });
          sessions.add(session);
        }
        for (const [session, { events, last }] of gone) note.run(events, last, session);
      });
      this.#on('events', events);
    }
    return { events, sessions: sessions.size };
  }

  /** In every session that needs it, also after a prune that was cut short. */
  async sweepKeys(): Promise<void> {
    const unswept = this.#db.prepare<[], OldEvent>(
      'SELECT id AS session, pruned_seq AS seq FROM session WHERE unswept = 1',
    );
    const remove = this.#db.prepare<[number, number, number, number]>(
      'DELETE FROM key WHERE session = ? AND hash = ? AND revision = ? AND seq = ?',
    );
    const swept = this.#db.prepare<[number]>('UPDATE session SET unswept = 0 WHERE id = ?');
    const empty = this.#db.prepare<[number]>('UPDATE session SET duplicates = 0 WHERE id = ? AND events = 0');
    let keys = 0;
    for (const { session, seq: prunedSeq } of unswept.all()) {
      for (const dead of deadKeys(this.#db, session, prunedSeq)) {
        await this.#inSteps(dead, (steps) => {
          for (const { hash, revision, seq } of steps) {
            keys += remove.run(session, hash, revision, seq).changes;
          }
        });
        this.#on('keys', keys);
      }
      await this.#step(() => {
        swept.run(session);
        empty.run(session);
      });
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
      const tookMs = await this.#step(() => {
        const before = number('page_count');
        // Not `simple`: each page is a row of the answer, and the first one would be all.
        this.#db.pragma(`incremental_vacuum(${size})`);
        const pages = before - number('page_count');
        given += pages * number('page_size');
        isLeft = pages > 0 && number('freelist_count') > 0;
      });
      size = Math.round(tookMs > PRUNE_STEP_MS ? size / 2 : size * 1.25);
      size = Math.min(Math.max(size, PRUNE_PAGES.least), PRUNE_PAGES.most);
      this.#on('pages', given);
    }
    // Beside others: it waits for nobody, and nobody for it.
    this.#db.pragma('wal_checkpoint(PASSIVE)');
    return given;
  }

  /** Works through a list in transactions that end when they have taken their time. */
  async #inSteps<Item>(items: readonly Item[], work: (items: Iterable<Item>) => void): Promise<void> {
    for (let at = 0; at < items.length; ) {
      let next = at;
      await this.#step(() => {
        next = at;
        const until = performance.now() + PRUNE_STEP_MS;
        work(
          (function* () {
            while (next < items.length && next - at < PRUNE_STEP_ROWS) {
              yield items[next++]!;
              if (performance.now() > until) return;
            }
          })(),
        );
      });
      at = next;
    }
  }

  /** One transaction, and a pause. @returns how long it held the lock, in milliseconds. */
  async #step(work: () => void): Promise<number> {
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
}
