import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { NS_PER_MS } from '../../base/units.ts';
import { type Naming, naming } from '../../protocol/playerRedaction.ts';
import { PacedSteps, STEP_ROWS, type StepWriter } from '../retention/pacedSteps.ts';
import { vacuum } from '../retention/vacuum.ts';
import { overwriteDeleted } from '../sqlite/secureDelete.ts';
import { type ErasedEvents, ErasureTally, EventEraser } from './eraseEvents.ts';
import { findRemains } from './findRemains.ts';
import { addErasures, type Erasure, erasureOf, FOREVER_NS, readErasures } from './ledger.ts';
import { clearEmpty, fillPage, pagesOf, rewritePage, rewriteTable } from './overwriteRemains.ts';
import { ErasedNames, Redactor } from './redactor.ts';

/** How often the free space of pages is cleaned and looked at again: what is left then is said. */
const ROUNDS = 4;
const READER_WAIT_MS = 500;
/** Tables of names: they stay, also where he is a part of one. What was deleted of them goes. */
const NAMES = ['session', 'origin', 'source'] as const;

/** Whom to erase. */
export interface ErasureRequest {
  readonly player: string;
  /** His events that happened before this, nanoseconds since 1970-01-01T00:00:00Z; undefined: all that are stored. */
  readonly beforeNs: bigint | undefined;
  readonly nowMs: number;
}

/** What an erasure has done. */
export interface Erased extends ErasedEvents {
  readonly conflictCopies: number;
  /** Pages of the database in whose free space something of him is left. */
  readonly remainingPages: number;
  /** Other files of the data directory that have something of him. */
  readonly files: readonly string[];
}

/** `events`: looked at; `reader`: it waits for another program that reads; `bytes`: rounds of looking at the files. */
export type EraseProgress = (doing: 'events' | 'pages' | 'reader' | 'bytes', count: number) => void;

interface EraseContext {
  /** The connection of the writer. */
  readonly db: Database;
  readonly writer: StepWriter;
  readonly on: EraseProgress;
  /** Ends it at its next pause, with an AbortError. */
  readonly signal?: AbortSignal;
}

/**
 * Erases a player (../../ARCHITECTURE.md#erasure), as steps of the writer. It may be ended anywhere: the next one goes on.
 * @throws {SqliteError} where the database stays locked, or the disk stays full.
 */
export async function erasePlayer(context: EraseContext, request: ErasureRequest): Promise<Erased> {
  const { db, writer } = context;
  const tally = new ErasureTally();
  const { player, beforeNs, nowMs } = request;
  const entry = erasureOf(db, player, beforeNs ?? BigInt(nowMs) * NS_PER_MS, nowMs);
  const eraser = new Eraser(context, tally);
  try {
    await eraser.step(() => addErasures(db, [entry]));
    // What comes from now on is redacted by the ledger; of what is stored, whatever its time.
    writer.readErasures();
    const all = beforeNs === undefined ? { ...entry, beforeNs: FOREVER_NS } : entry;
    const redactor = new Redactor([all], new ErasedNames(db, true));
    await eraser.takeOut(redactor, player);
    // Also where nothing is left of him but in the bytes: the one before was ended in the middle.
    tally.needles.add(player);
    const { pages, files } = await eraser.clean();
    // A camera's clock may be ahead of the box's: a restore, an import or a copy finds what was erased here.
    const isAhead = beforeNs === undefined && tally.lastNs >= entry.beforeNs;
    await eraser.finish([isAhead ? { ...entry, beforeNs: tally.lastNs + 1n } : entry]);
    writer.readErasures();
    await eraser.truncateWal();
    const { emptied, renamed, sessions, conflictCopies } = tally;
    return {
      ...{ emptied, renamed, sessions: sessions.size },
      ...{ conflictCopies, remainingPages: pages, files },
    };
  } finally {
    eraser.end();
  }
}

/**
 * Applies what is not finished in the ledger of a database that nobody else has open and that is no box's yet, such as a restored one.
 * @returns how many events were changed.
 * @throws as `erasePlayer`.
 */
export async function applyLedger(db: Database): Promise<number> {
  const ledger = readErasures(db).filter(({ finishedMs }) => finishedMs === null);
  if (ledger.length === 0) return 0;
  const step = (work: () => void) => db.transaction(work).immediate();
  const nothing = () => {};
  const writer: StepWriter = {
    step,
    isServing: false,
    isAlone: true,
    forgetNames: nothing,
    readErasures: nothing,
    maintain: nothing,
    walCopied: async () => {},
    truncateWal: nothing,
    holdForPrune: nothing,
  };
  const tally = new ErasureTally();
  const eraser = new Eraser({ db, writer, on: nothing }, tally);
  try {
    await eraser.takeOut(new Redactor(ledger, new ErasedNames(db, true)), undefined);
    await eraser.finish(ledger);
    // Instead of looking for what is left: every page is written anew.
    db.exec('VACUUM');
    return tally.emptied + tally.renamed;
  } finally {
    eraser.end();
  }
}

class Eraser {
  readonly #context: EraseContext;
  readonly #steps: PacedSteps;
  readonly #tally: ErasureTally;

  constructor(context: EraseContext, tally: ErasureTally) {
    this.#context = context;
    this.#tally = tally;
    const { db, writer, on, signal } = context;
    this.#steps = new PacedSteps(db, writer, () => on('reader', 0), signal);
    this.#steps.isScattered = true;
    // Freed pages, too.
    db.pragma('secure_delete = ON');
  }

  end(): void {
    this.#steps.end();
    overwriteDeleted(this.#context.db);
  }

  async step(work: () => void): Promise<void> {
    await this.#steps.run(work);
  }

  /** Takes the players of a redactor out of all tables. @param player the only one, where he is known. */
  async takeOut(redactor: Redactor, player: string | undefined): Promise<void> {
    const { db, on } = this.#context;
    const events = new EventEraser(db, this.#steps, redactor, this.#tally);
    await events.run(player, (done) => on('events', done));
    const names = player === undefined ? (text: string) => redactor.names(text) : naming(player);
    this.#tally.conflictCopies += await this.#deleteCopies(names);
    await this.#forgetPseudonyms(redactor);
  }

  /** Notes that these are erased: their names in sessions are forgotten. */
  async finish(ledger: readonly Erasure[]): Promise<void> {
    const { db } = this.#context;
    const finishedMs = Date.now();
    const forget = db.prepare<[Buffer]>('DELETE FROM erased_name WHERE player = ?');
    await this.step(() => {
      addErasures(
        db,
        ledger.map((erasure) => ({ ...erasure, finishedMs })),
      );
      for (const { player } of ledger) forget.run(player);
      // Rows that were moved have left copies in free space.
      rewriteTable(db, 'erased_name');
    });
  }

  /** Those that name one of them, whenever that was. @returns how many. */
  async #deleteCopies(names: Naming): Promise<number> {
    const { db } = this.#context;
    const { turns, isNamed } = copiesIn(db);
    const remove = db.prepare<[number]>('DELETE FROM conflict_copy WHERE turn = ?');
    let deleted = 0;
    await this.#steps.runAll(turns, turns.length, (some) => {
      let count = 0;
      for (const turn of some) if (isNamed(turn, names)) count += remove.run(turn).changes;
      return () => {
        deleted += count;
      };
    });
    return deleted;
  }

  /** So that nobody links what headquarters has. The others' rows move to other pages: none keeps a copy of his. */
  async #forgetPseudonyms(redactor: Redactor): Promise<void> {
    const { db } = this.#context;
    const all = db.prepare<[], { player_id: string; name: string }>('SELECT * FROM pseudonym').all();
    const kept = all.filter(({ player_id }) => !redactor.isErased(player_id));
    if (kept.length === all.length) return;
    const add = db.prepare('INSERT INTO pseudonym VALUES (@player_id, @name)');
    await this.step(() => {
      db.exec('DELETE FROM pseudonym');
      for (const one of kept) add.run(one);
    });
  }

  /** Overwrites what is left in free pages and in the free space of others, and looks whether it is gone. */
  async clean(): Promise<{ pages: number; files: readonly string[] }> {
    const { db, on, signal } = this.#context;
    const directory = DataDirectory.of(db.name);
    for (let round = 1; ; round++) {
      await vacuum(db, this.#steps, (bytes) => on('pages', bytes));
      await this.truncateWal();
      on('bytes', round);
      const { pages, files } = await findRemains(directory, this.#tally.needles, signal);
      const [names, others] = [pagesOf(db, NAMES), pagesOf(db, ['erased_name'])];
      const left = pages.filter(({ page }) => !names.has(page) && !others.has(page));
      if (round === 1 && pages.some(({ page }) => names.has(page)))
        for (const table of NAMES) await this.step(() => rewriteTable(db, table));
      if (left.length === 0 || round === ROUNDS) return { pages: left.length, files };
      await this.#steps.runAll(left, STEP_ROWS, (some) => {
        let cleaned = 0;
        for (const page of some) {
          if (round % 2 === 1) fillPage(db, page);
          else rewritePage(db, page);
          cleaned++;
        }
        return () => {
          this.#tally.pages += cleaned;
        };
      });
      if (left.some(({ rows }) => rows === 0)) await this.step(() => clearEmpty(db));
    }
  }

  /** Waits for whoever reads. */
  async truncateWal(): Promise<void> {
    const { db, writer, on, signal } = this.#context;
    const wal = DataDirectory.of(db.name).file('wal');
    for (;;) {
      await writer.walCopied();
      writer.truncateWal();
      if ((fs.statSync(wal, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
      on('reader', 0);
      await sleep(READER_WAIT_MS, undefined, { signal });
    }
  }
}

function copiesIn(db: Database) {
  const read = db.prepare<[number], string | null>('SELECT event FROM conflict_copy WHERE turn = ?').pluck();
  const turns = db.prepare<[], number>('SELECT turn FROM conflict_copy ORDER BY turn').pluck().all();
  return { turns, isNamed: (turn: number, names: Naming) => names(read.get(turn) ?? '') };
}

/** @returns how many conflict copies name somebody. */
export function countCopies(db: Database, names: Naming): number {
  const { turns, isNamed } = copiesIn(db);
  return turns.filter((turn) => isNamed(turn, names)).length;
}
