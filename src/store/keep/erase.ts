import { setImmediate } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { NS_PER_MS } from '../../base/units.ts';
import { type Naming, naming } from '../../protocol/playerRedaction.ts';
import { overwriteDeleted } from '../db/schema.ts';
import { addErasures, ErasedPlayers, erasureOf, FOREVER_NS, readErasures } from '../write/ledger.ts';
import { Redactor } from '../write/redactor.ts';
import { ErasedTally, erasedEvents } from './eraseEvents.ts';
import { type Step, type StepContext, Steps } from './steps.ts';

/** Conflict copies that a step reads: of 64 KiB at most each. */
const COPIES_PER_STEP = 10;
/** A power failure must undo neither the row of the ledger nor, once it is reported, the erasure. */
const SYNCED = true;
/** For a database that nobody else has open, and beside the daemon. */
const [ROWS_ALONE, ROWS_READING] = [() => 1_000, () => 50];

/** Whom to erase. */
export interface ErasureRequest {
  readonly player: string;
  /** The player's events that happened before this, nanoseconds since 1970-01-01T00:00:00Z; undefined: all that are stored. */
  readonly beforeNs: bigint | undefined;
  readonly nowMs: number;
}

/** What an erasure has done. */
export type Erased = Omit<ErasedTally, 'sessions'> & { readonly sessions: number };

/**
 * Erases a player (../../ARCHITECTURE.md#erasure), in short steps of the writer. It may be interrupted anywhere: the next one
 * continues.
 * @throws {SqliteError} if the database stays locked, or the disk stays full.
 */
export async function erasePlayer(
  context: StepContext,
  { player, beforeNs, nowMs }: ErasureRequest,
): Promise<Erased> {
  const { db, writer, on } = context;
  const steps = new Steps(context);
  const tally = new ErasedTally();
  // Freed pages, too.
  db.pragma('secure_delete = ON');
  try {
    const entry = erasureOf(db, player, beforeNs ?? BigInt(nowMs + 1) * NS_PER_MS, nowMs);
    await steps.run([() => addErasures(db, [entry])], SYNCED);
    writer.appender.readErasures();
    const redactor = new Redactor([{ ...entry, beforeNs: beforeNs ?? FOREVER_NS }]);
    await steps.run(erasedEvents(db, redactor, steps.rows, tally, on));
    await steps.run(erasedCopies(db, naming(player), tally));
    await steps.run([() => addErasures(db, [{ ...entry, finishedMs: Date.now() }])], SYNCED);
    writer.appender.readErasures();
    writer.truncateWal();
    return { ...tally, sessions: tally.sessions.size };
  } finally {
    await steps.end();
    overwriteDeleted(db);
  }
}

/**
 * Counts what an erasure would change, for a command that only reads.
 * @param beforeNs as in ErasureRequest. @param on is called with how many events were read.
 */
export async function findPlayer(
  db: Database,
  player: string,
  beforeNs: bigint | undefined,
  on: (read: number) => void,
): Promise<Erased & { readonly wasErased: boolean }> {
  const tally = new ErasedTally();
  const redactor = new Redactor([erasureOf(db, player, beforeNs ?? FOREVER_NS, 0)]);
  for (const _step of erasedEvents(db, redactor, ROWS_READING, tally, on)) await setImmediate();
  for (const _step of erasedCopies(db, naming(player), tally));
  const wasErased = new ErasedPlayers(readErasures(db)).find(player) !== undefined;
  return { ...tally, sessions: tally.sessions.size, wasErased };
}

/** Applies the unfinished erasures of a database that no other process has open, such as a restored one before it gets its name. */
export async function applyLedger(db: Database): Promise<void> {
  const ledger = readErasures(db).filter(({ finishedMs }) => finishedMs === null);
  if (ledger.length === 0) return;
  const redactor = new Redactor(ledger);
  const tally = new ErasedTally();
  const finished = ledger.map((erasure) => ({ ...erasure, finishedMs: Date.now() }));
  function* erasing(): Generator<Step> {
    yield* erasedEvents(db, redactor, ROWS_ALONE, tally, () => {});
    yield* erasedCopies(db, (text) => redactor.names(text), tally);
    yield () => addErasures(db, finished);
  }
  for (const step of erasing()) {
    if (step !== undefined) db.transaction(step).immediate();
    // Signals are handled between two turns of the event loop.
    await setImmediate();
  }
  // Write every page again, without its old content. By way of a file, because it may be larger than the memory.
  db.pragma('temp_store = FILE');
  db.exec('VACUUM');
}

/** Conflict copies that name somebody go, whenever that was. @yields steps, some copies at a time. */
function* erasedCopies(db: Database, names: Naming, tally: ErasedTally): Generator<Step> {
  const read = db.prepare<[number], { readonly turn: number; readonly event: string | null }>(
    `SELECT turn, event FROM conflict_copy WHERE turn > ? ORDER BY turn LIMIT ${COPIES_PER_STEP}`,
  );
  const remove = db.prepare<[number]>('DELETE FROM conflict_copy WHERE turn = ?');
  for (let copies = read.all(-1); copies.length > 0; copies = read.all(copies.at(-1)!.turn)) {
    const named = copies.filter(({ event }) => names(event ?? ''));
    tally.conflictCopies += named.length;
    yield () => {
      for (const { turn } of named) remove.run(turn);
    };
  }
}
