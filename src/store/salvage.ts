import fs from 'node:fs';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { BATCH_EVENTS, BUSY_GIVE_UP_MS, COMMAND_BUSY_MS } from '../base/limits.ts';
import { OperatorError } from '../base/operatorError.ts';
import { decodeBatch } from '../protocol/decodeBatch.ts';
import { Problem } from '../protocol/errors.ts';
import { type Arrival, type CourtEvent, eventToJson } from '../protocol/event.ts';
import type { Restored } from './backup/restore.ts';
import { readEpochs, sharedUpTo } from './layout/epochs.ts';
import { ArrivalReader } from './read/arrivalReader.ts';
import type { Store } from './store.ts';

/** Chunks of which nothing can be read, one after another, from which on ever more is left out at a time. */
const PATIENCE = 20;

/** What has been taken over from a replaced database. */
export interface Salvaged {
  /** Those that could be read, and were not in the backup. */
  events: number;
  accepted: number;
  duplicates: number;
  conflicts: number;
  /** Seqs whose event could not be read; some of them may never have had one. */
  unreadable: number;
}

/** A database that a restore has replaced: only read, and as far as that goes, past every page that is damaged. */
export class ReplacedDatabase {
  readonly #db: Database.Database;
  readonly #reader: ArrivalReader;
  /** The events after this seq are not in the backup. */
  readonly after: number;
  readonly #lastSeq: number;
  /** Seqs whose event could not be read. */
  unreadable = 0;

  private constructor(db: Database.Database, restored: Restored) {
    this.#db = db;
    this.#reader = new ArrivalReader(db);
    const number = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
    this.#lastSeq =
      ifReadable(() => number('SELECT max(seq) FROM event')) ??
      number("SELECT seq FROM sqlite_sequence WHERE name = 'event'");
    const epochs = ifReadable(() => readEpochs(db)) ?? [];
    this.after = Math.min(sharedUpTo(epochs, restored.epochs) ?? 0, restored.lastSeq);
  }

  /** @returns undefined where nothing of it can be read. */
  static open(file: string, restored: Restored): ReplacedDatabase | undefined {
    let db: Database.Database | undefined;
    try {
      // A connection that can write would change the file when it closes.
      const readonly = fs.existsSync(`${file}-wal`);
      db = new Database(file, { readonly, fileMustExist: true, timeout: COMMAND_BUSY_MS });
      return new ReplacedDatabase(db, restored);
    } catch {
      db?.close();
      return undefined;
    }
  }

  /** @yields what can be read of the events that are not in the backup, in the order of arrival. */
  *arrivals(): Generator<readonly Arrival[]> {
    for (let [from, lost] = [this.after + 1, 0]; from <= this.#lastSeq; ) {
      const to = Math.min(from + BATCH_EVENTS - 1, this.#lastSeq);
      const before = this.unreadable;
      const { events, upTo } = ifReadable(() => this.#reader.between(from, to)) ?? this.#oneByOne(from, to);
      if (events.length > 0) yield events;
      lost = events.length === 0 && this.unreadable > before ? lost + 1 : 0;
      const left =
        lost > PATIENCE ? Math.min(BATCH_EVENTS * 2 ** (lost - PATIENCE), this.#lastSeq - upTo) : 0;
      this.unreadable += left;
      from = upTo + left + 1;
    }
  }

  /** Where a page of a chunk is damaged: what lies on the others. */
  #oneByOne(from: number, to: number): { events: Arrival[]; upTo: number } {
    const events: Arrival[] = [];
    for (let seq = from; seq <= to; seq++) {
      try {
        const event = this.#reader.one(seq);
        if (event !== undefined) events.push(event);
      } catch {
        this.unreadable++;
      }
    }
    return { events, upTo: to };
  }

  close(): void {
    this.#db.close();
    // SQLite leaves it beside a WAL that it may not write; nothing is in it.
    fs.rmSync(`${this.#db.name}-shm`, { force: true });
  }
}

function ifReadable<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * Stores what can still be read in a replaced database and is not in the backup, as an import of it would.
 * @param told how many events have been read.
 * @throws {OperatorError} where they cannot be stored: what was stored before stays, and is counted in `salvaged`.
 */
export async function salvage(
  from: ReplacedDatabase,
  store: Store,
  salvaged: Salvaged,
  told: (events: number) => void,
): Promise<void> {
  for (const arrivals of from.arrivals()) {
    const events = arrivals.flatMap(decoded);
    salvaged.events += events.length;
    from.unreadable += arrivals.length - events.length;
    salvaged.unreadable = from.unreadable;
    const { accepted, duplicates, conflicts } = await append(store, events);
    salvaged.accepted += accepted;
    salvaged.duplicates += duplicates;
    salvaged.conflicts += conflicts;
    told(salvaged.events);
    await setImmediate();
  }
  salvaged.unreadable = from.unreadable;
}

/** Checked as if it were sent now: a page may be readable, and what is in it no event any more. */
function decoded(arrival: Arrival): CourtEvent[] {
  try {
    return decodeBatch(Buffer.from(eventToJson(arrival)));
  } catch {
    return [];
  }
}

async function append(store: Store, events: readonly CourtEvent[]) {
  for (const giveUpAt = performance.now() + COMMAND_BUSY_MS; ; await sleep(BUSY_GIVE_UP_MS)) {
    try {
      return await store.append(events);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const mayPass = error.code === 'storage_busy' || error.code === 'overloaded';
      if (mayPass && performance.now() < giveUpAt) continue;
      const why = error.code === 'storage_full' ? 'the disk is full' : error.message;
      throw new OperatorError(`Not everything was salvaged: ${why}.`);
    }
  }
}
