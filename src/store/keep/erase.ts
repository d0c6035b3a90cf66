import { setImmediate } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { NS_PER_MS } from '../../base/units.ts';
import { NOTHING } from '../../protocol/playerRedaction.ts';
import { checksumOf, isIntact } from '../db/checksum.ts';
import { OVERWRITE_DELETED } from '../db/schema.ts';
import { EVENT_COLUMNS, EVENTS, type StoredEvent } from '../read/storedEvent.ts';
import { addErasures, erasureOf, FOREVER_NS, readErasures } from '../write/ledger.ts';
import { Redactor } from '../write/redactor.ts';
import { paceOf, runSteps, type Step, type StepContext, type StepProgress } from './steps.ts';

/** Events that are read, for each that a step may change: 5 us each. */
const READS_PER_ROW = 5;
/** Without a daemon whose events have to wait for a step. */
const ROWS_ALONE = 1_000;

/** Whom to erase. */
export interface ErasureRequest {
  readonly player: string;
  /** The player's events that happened before this, nanoseconds since 1970-01-01T00:00:00Z; undefined: all that are stored. */
  readonly beforeNs: bigint | undefined;
  readonly nowMs: number;
}

/** What an erasure has done. */
export class Erased {
  /** Events of which nothing is left but that they were there. */
  emptied = 0;
  /** Events in which a player has another name. */
  renamed = 0;
  /** Of these events. */
  sessions = 0;
  conflictCopies = 0;
}

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
  const entry = erasureOf(db, player, beforeNs ?? BigInt(nowMs + 1) * NS_PER_MS, nowMs);
  const redactor = new Redactor([{ ...entry, beforeNs: beforeNs ?? FOREVER_NS }]);
  const tally = new Erased();
  function* steps(): Generator<Step> {
    yield () => addErasures(db, [entry]);
    writer.appender.forget();
    yield* erasing(db, redactor, tally, on, () => paceOf(writer).rows);
    yield () => addErasures(db, [{ ...entry, finishedMs: Date.now() }]);
    writer.appender.forget();
  }
  // Freed pages, too.
  db.pragma('secure_delete = ON');
  try {
    await runSteps(context, steps());
    writer.truncateWal();
    return tally;
  } finally {
    db.pragma(OVERWRITE_DELETED);
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
  on: StepProgress,
): Promise<Erased & { readonly wasErased: boolean }> {
  const tally = new Erased();
  const redactor = new Redactor([erasureOf(db, player, beforeNs ?? FOREVER_NS, 0)]);
  for (const _step of erasing(db, redactor, tally, on)) await setImmediate();
  const wasErased = new Redactor(readErasures(db)).find(player) !== undefined;
  return { ...tally, wasErased };
}

/** Applies the unfinished erasures of a database that no other process has open, such as a restored one before it gets its name. */
export async function applyLedger(db: Database): Promise<void> {
  const ledger = readErasures(db).filter(({ finishedMs }) => finishedMs === null);
  if (ledger.length === 0) return;
  for (const step of erasing(db, new Redactor(ledger), new Erased())) {
    db.transaction(step).immediate();
    // Signals are handled between two turns of the event loop.
    await setImmediate();
  }
  const finished = ledger.map((erasure) => ({ ...erasure, finishedMs: Date.now() }));
  db.transaction(() => addErasures(db, finished)).immediate();
}

/**
 * Takes the players of a redactor out of all events that are stored now, and deletes the conflict copies that name them. Events that
 * arrive meanwhile are redacted on arrival.
 * @param on is called with how many were read. @param rows a fifth of the events that one step reads.
 * @yields steps: if none is run, `tally` has what they would change.
 */
function* erasing(
  db: Database,
  redactor: Redactor,
  tally: Erased,
  on: StepProgress = () => {},
  rows = () => ROWS_ALONE,
): Generator<Step> {
  const events = db.prepare<[number, number], StoredEvent>(
    `SELECT ${EVENT_COLUMNS} FROM ${EVENTS} WHERE e.seq > ? AND e.seq <= ? ORDER BY e.seq`,
  );
  const update = db.prepare(
    'UPDATE event SET payload = @payload, extra = @extra, checksum = @checksum, erased = 1 WHERE seq = @seq',
  );
  const bounds = 'SELECT ifnull((SELECT min(seq) FROM event), 1), ifnull((SELECT max(seq) FROM event), 0)';
  const [first, last] = db.prepare<[], [number, number]>(bounds).raw().get()!;
  const sessions = new Set<string | null>();
  for (let after = first - 1; after < last; ) {
    const upTo = Math.min(last, after + READS_PER_ROW * rows());
    const lefts: object[] = [];
    for (const event of events.iterate(after, upTo)) {
      const left = leftOf(event, redactor);
      if (left === undefined) continue;
      lefts.push({ ...left, seq: event.seq });
      tally.sessions = sessions.add(event.sessionId).size;
      tally[left.payload === NOTHING.payload ? 'emptied' : 'renamed']++;
    }
    yield () => {
      for (const left of lefts) update.run(left);
    };
    on(upTo - first + 1);
    after = upTo;
  }
  const copies = db.prepare<[], { turn: number; event: string | null }>(
    'SELECT turn, event FROM conflict_copy',
  );
  const turns: number[] = [];
  for (const { turn, event } of copies.iterate()) if (redactor.names(event ?? '')) turns.push(turn);
  tally.conflictCopies = turns.length;
  const remove = db.prepare<[number]>('DELETE FROM conflict_copy WHERE turn = ?');
  yield () => {
    for (const turn of turns) remove.run(turn);
  };
}

/**
 * A damaged event loses all if it may name a player, and stays damaged.
 * @returns what is left of an event without the players of a redactor; undefined if it names none.
 */
function leftOf(found: StoredEvent, redactor: Redactor) {
  const { payload, extra, checksum } = found;
  if (!isIntact(found)) return redactor.names(`${payload} ${extra}`) ? { ...NOTHING, checksum } : undefined;
  const event = { ...found, eotNs: BigInt(found.eotDigits) };
  const left = redactor.redact(event);
  if (left === event) return undefined;
  return { payload: left.payload, extra: left.extra, checksum: checksumOf(left, left.eotNs, found) };
}
