import { setImmediate } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { NS_PER_MS } from '../../base/units.ts';
import { type Naming, naming } from '../../protocol/playerRedaction.ts';
import { nsOf } from '../layout/checksum.ts';
import { type Step, Steps, type StepWriter } from '../retention/steps.ts';
import { overwriteDeleted } from '../sqlite/secureDelete.ts';
import { erasedEvents, rowOf, withoutPlayers } from './eraseEvents.ts';
import { addErasures, type Erasure, erasureOf, FOREVER_NS, readErasures } from './ledger.ts';
import { Redactor } from './redactor.ts';

/** Events of which one query finds those of the future: half a millisecond. */
const LOOK_ROWS = 4_000;
/** Conflict copies that a step reads: of 64 KiB at most each. */
const COPIES_PER_STEP = 10;
/** Of a database that nobody else has open. */
const ROWS_ALONE = () => 1_000;

/** Whom to erase. */
export interface ErasureRequest {
  readonly player: string;
  /** The player's events that happened before this, nanoseconds since 1970-01-01T00:00:00Z; undefined: all that are stored. */
  readonly beforeNs: bigint | undefined;
  readonly nowMs: number;
}

/** What an erasure has done. */
export interface Erased {
  /** Events of which nothing is left but that they were there. */
  readonly emptied: number;
  /** Events in which the player has another name. */
  readonly renamed: number;
  readonly sessions: number;
  readonly conflictCopies: number;
}

/** `events`: looked at; `reader`: it waits for another program that reads. */
export type EraseProgress = (doing: 'events' | 'reader', count: number) => void;

interface EraseContext {
  /** The connection of the writer. */
  readonly db: Database;
  readonly writer: StepWriter;
  readonly on: EraseProgress;
  /** Ends it at its next pause, with an AbortError. */
  readonly signal?: AbortSignal;
}

/**
 * Erases a player (../../ARCHITECTURE.md#erasure), in short steps of the writer. It may be interrupted anywhere: the next one
 * continues.
 * @throws {SqliteError} if the database stays locked, or the disk stays full.
 */
export async function erasePlayer(
  { db, writer, on, signal }: EraseContext,
  { player, beforeNs, nowMs }: ErasureRequest,
): Promise<Erased> {
  const steps = new Steps(db, writer, () => on('reader', 0), signal);
  let entry = erasureOf(db, player, beforeNs ?? BigInt(nowMs) * NS_PER_MS, nowMs);
  const tally = { emptied: 0, renamed: 0, sessions: new Set<number>(), conflictCopies: 0 };
  // Freed pages, too.
  db.pragma('secure_delete = ON');
  try {
    // In the transaction that has looked at the last event: what comes afterwards is redacted by the ledger.
    const begin = (lastNs: bigint) => {
      if (lastNs >= entry.beforeNs) entry = { ...entry, beforeNs: lastNs + 1n };
      addErasures(db, [entry]);
    };
    await steps.run(
      beforeNs === undefined ? beyond(db, player, entry.beforeNs, begin) : [() => begin(beforeNs - 1n)],
    );
    writer.readErasures();
    await steps.run(
      erasedEvents(db, new Redactor([entry]), player, steps.rows, tally, (looked) => on('events', looked)),
    );
    await steps.run(erasedCopies(db, naming(player), tally));
    await steps.run([() => addErasures(db, [{ ...entry, finishedMs: Date.now() }])]);
    writer.readErasures();
    await writer.walCopied();
    writer.truncateWal();
    return { ...tally, sessions: tally.sessions.size };
  } finally {
    steps.end();
    overwriteDeleted(db);
  }
}

/**
 * Applies what is not finished in the ledger of a database that nobody else has open and that is no box's yet, such as a restored one.
 * @returns how many events were changed.
 */
export async function applyLedger(db: Database): Promise<number> {
  const ledger = readErasures(db).filter(({ finishedMs }) => finishedMs === null);
  if (ledger.length === 0) return 0;
  const redactor = new Redactor(ledger);
  const tally = { emptied: 0, renamed: 0, sessions: new Set<number>(), conflictCopies: 0 };
  const finish = () =>
    addErasures(
      db,
      ledger.map((erasure): Erasure => ({ ...erasure, finishedMs: Date.now() })),
    );
  const all = [
    erasedEvents(db, redactor, undefined, ROWS_ALONE, tally, () => {}),
    erasedCopies(db, (text) => redactor.names(text), tally),
    [finish],
  ];
  for (const steps of all) {
    for (const step of steps) {
      if (step !== undefined) db.transaction(step).immediate();
      // Signals are handled between two turns of the event loop.
      await setImmediate();
    }
  }
  // Every page is written anew, without what was there before.
  db.exec('VACUUM');
  return tally.emptied + tally.renamed;
}

/**
 * Finds how far in the future events that name a player are: a camera's clock may be ahead of the box's.
 * @param fromNs events from then on count.
 * @param found is called in the last step, with the time of the latest of them, or of none.
 */
function* beyond(
  db: Database,
  player: string,
  fromNs: bigint,
  found: (lastNs: bigint) => void,
): Generator<Step> {
  const redactor = new Redactor([erasureOf(db, player, FOREVER_NS, 0)]);
  const row = rowOf(db);
  const look = db.prepare<[object], { last: number | null; seqs: string }>(`
    SELECT max(seq) AS last, json_group_array(seq) FILTER (WHERE eot_ns >= @fromNs) AS seqs
      FROM (SELECT seq, eot_ns FROM event WHERE seq > @after ORDER BY seq LIMIT ${LOOK_ROWS})`);
  let [after, lastNs] = [0, -FOREVER_NS];
  /** Looks at some events. @returns whether there may be more. */
  const scan = () => {
    const { last, seqs } = look.get({ after, fromNs })!;
    for (const seq of JSON.parse(seqs)) {
      const event = row(seq)!;
      const eotNs = nsOf(event.eotHigh, event.eotLow);
      if (eotNs > lastNs && withoutPlayers(event, redactor) !== undefined) lastNs = eotNs;
    }
    after = last ?? after;
    return last !== null;
  };
  while (scan()) yield undefined;
  yield () => {
    while (scan());
    found(lastNs);
  };
}

/** Conflict copies that name somebody go, whenever that was. */
function* erasedCopies(db: Database, names: Naming, tally: { conflictCopies: number }): Generator<Step> {
  const remove = db.prepare<[number]>('DELETE FROM conflict_copy WHERE turn = ?');
  const { turns, isNamed } = copiesIn(db);
  while (turns.length > 0) {
    const some = turns.splice(0, COPIES_PER_STEP);
    let deleted = 0;
    yield () => {
      deleted = 0;
      for (const turn of some) if (isNamed(turn, names)) deleted += remove.run(turn).changes;
    };
    tally.conflictCopies += deleted;
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
