import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { PruneSteps, type StepWriter } from '../retention/pruneSteps.ts';
import { vacuum } from '../retention/vacuum.ts';
import { overwriteDeleted } from '../sqlite/secureDelete.ts';
import { type ErasedEvents, ErasureTally, EventEraser } from './eraseEvents.ts';
import { addErasures, type Erasure, erasureOf, readErasures } from './ledger.ts';
import { ErasedNames, Redactor } from './redactor.ts';
import { findRemains, type RemainingPage } from './remains.ts';

/** How often the free space of pages is cleaned and looked at again: what is left then is said. */
const ROUNDS = 4;
const READER_WAIT_MS = 500;
const NS_PER_MS = 1_000_000n;
/** Later than every eot. */
const FOREVER_NS = 2n ** 63n - 1n;
/** Tables, other than `event`, whose rows hold what cameras sent. */
const COPIES = ['conflict_copy', 'rejection'] as const;

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
  readonly rejections: number;
  /** Pages of the database in whose free space something of him is left. */
  readonly remainingPages: number;
  /** Other files of the data directory that have something of him. */
  readonly files: readonly string[];
}

/** `events`: looked at; `reader`: it waits for another program that reads; `bytes`: rounds of looking at the files. */
export type EraseProgress = (doing: 'events' | 'pages' | 'reader' | 'bytes', count: number) => void;

export interface EraseContext {
  /** The connection of the writer. */
  readonly db: Database;
  readonly writer: StepWriter;
  readonly on: EraseProgress;
  /** How far it is: a second call goes on there. */
  readonly tally?: ErasureTally;
  /** Ends it at its next pause, with an AbortError. */
  readonly signal?: AbortSignal;
}

/**
 * Erases a player (../../ARCHITECTURE.md#erasure), as steps of the writer. It may be ended anywhere: the next one goes on.
 * @throws {SqliteError} where the database stays locked, or the disk stays full.
 */
export async function erasePlayer(context: EraseContext, request: ErasureRequest): Promise<Erased> {
  const { db, writer } = context;
  const { player, beforeNs, nowMs } = request;
  const entry = erasureOf(db, player, beforeNs ?? BigInt(nowMs) * NS_PER_MS, nowMs);
  const eraser = new Eraser(context);
  try {
    await eraser.step(() => addErasures(db, [entry]));
    // What comes from now on is redacted by the ledger; of what is stored, whatever its time.
    writer.readErasures();
    const all = beforeNs === undefined ? { ...entry, beforeNs: FOREVER_NS } : entry;
    const redactor = new Redactor([all], new ErasedNames(db, true));
    const copies = await eraser.takeOut(redactor, player);
    const { needles, lastNs, erased } = eraser.tally;
    // Also where nothing is left of him but in the bytes: the one before was ended in the middle.
    const { pages, files } = await eraser.clean(needles.add(player));
    // His clock may be ahead of the box's: a restore finds what was erased here.
    const isAhead = beforeNs === undefined && lastNs >= entry.beforeNs;
    await eraser.finish([isAhead ? { ...entry, beforeNs: lastNs + 1n } : entry]);
    writer.readErasures();
    await eraser.truncateWal();
    return { ...erased, ...copies, remainingPages: pages, files };
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
    keysInMemory: 0,
    flushStep: () => true,
    forgetNames: nothing,
    readErasures: nothing,
    maintain: nothing,
    truncateWal: nothing,
    holdForPrune: nothing,
  };
  const eraser = new Eraser({ db, writer, on: nothing });
  try {
    const redactor = new Redactor(ledger, new ErasedNames(db, true));
    await eraser.takeOut(redactor, undefined);
    await eraser.finish(ledger);
    // Instead of looking for what is left: every page is written anew.
    db.exec('VACUUM');
    return eraser.tally.emptied + eraser.tally.renamed;
  } finally {
    eraser.end();
  }
}

class Eraser {
  readonly #context: EraseContext;
  readonly #steps: PruneSteps;
  readonly tally: ErasureTally;

  constructor(context: EraseContext) {
    this.#context = context;
    this.tally = context.tally ?? new ErasureTally();
    const { db, writer, on, signal } = context;
    this.#steps = new PruneSteps(db, writer, () => on('reader', 0), signal);
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
  async takeOut(
    redactor: Redactor,
    player: string | undefined,
  ): Promise<Pick<Erased, 'conflictCopies' | 'rejections'>> {
    const { db, on } = this.#context;
    const events = new EventEraser(db, this.#steps, redactor, this.tally);
    await events.run(player, (done) => on('events', done));
    const copies = await this.#deleteCopies(redactor);
    await this.#forgetPseudonyms(redactor);
    return copies;
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
    });
  }

  /** Conflict copies and rejections that name one of them, whenever that was. */
  async #deleteCopies(redactor: Redactor): Promise<Pick<Erased, 'conflictCopies' | 'rejections'>> {
    const { db } = this.#context;
    const counts = { conflict_copy: 0, rejection: 0 };
    for (const table of COPIES) {
      const turns = db.prepare<[], number>(`SELECT turn FROM ${table} ORDER BY turn`).pluck().all();
      const text = table === 'rejection' ? "concat_ws(' ', error, CAST(body AS TEXT))" : 'event';
      const read = db.prepare<[number], string | null>(`SELECT ${text} FROM ${table} WHERE turn = ?`).pluck();
      const remove = db.prepare<[number]>(`DELETE FROM ${table} WHERE turn = ?`);
      await this.#steps.runAll(turns, turns.length, (some) => {
        let deleted = 0;
        for (const turn of some) {
          if (redactor.names(read.get(turn) ?? '')) deleted += remove.run(turn).changes;
        }
        return () => {
          counts[table] += deleted;
        };
      });
    }
    return { conflictCopies: counts.conflict_copy, rejections: counts.rejection };
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
  async clean(needles: Iterable<string>): Promise<{ pages: number; files: readonly string[] }> {
    const { db, on, signal } = this.#context;
    const directory = DataDirectory.of(db.name);
    for (let round = 1; ; round++) {
      await vacuum(db, this.#steps, (bytes) => on('pages', bytes));
      await this.truncateWal();
      on('bytes', round);
      const { pages, others, files } = await findRemains(directory, needles, signal);
      const left = pages.length + others;
      if (left === 0 || round === ROUNDS) return { pages: left, files };
      for (const page of pages) await this.step(() => rewrite(db, page));
      if (others > 0) await this.step(() => clearEmpty(db));
    }
  }

  /** Waits for whoever reads. */
  async truncateWal(): Promise<void> {
    const { db, writer, on, signal } = this.#context;
    const wal = DataDirectory.of(db.name).file('wal');
    for (;;) {
      writer.truncateWal();
      if ((fs.statSync(wal, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
      on('reader', 0);
      await sleep(READER_WAIT_MS, undefined, { signal });
    }
  }
}

/** Deletes the rows of a page and inserts them again: the page is freed, and so overwritten. */
function rewrite(db: Database, { first, last, rows: count }: RemainingPage): void {
  for (const [table, rowid] of [
    ['event', 'seq'],
    ['conflict_copy', 'seq'],
    ['rejection', 'turn'],
  ]) {
    const between = `FROM ${table} WHERE ${rowid} BETWEEN ? AND ?`;
    const rows = db
      .prepare<[number, number], unknown[]>(`SELECT * ${between}`)
      .raw()
      .safeIntegers()
      .all(first, last);
    if (rows.length !== count) continue;
    db.prepare(`DELETE ${between}`).run(first, last);
    const insert = db.prepare(`INSERT INTO ${table} VALUES (${rows[0]!.map(() => '?').join()})`);
    for (const row of rows) insert.run(row);
  }
}

/** The root page of an empty table is cleared as a whole. */
function clearEmpty(db: Database): void {
  for (const table of COPIES) {
    if (db.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() === undefined) db.exec(`DELETE FROM ${table}`);
  }
}
