import fs from 'node:fs';
import Database from 'better-sqlite3';
import { BATCH_EVENTS, COMMAND_BUSY_MS, READ_CHUNK_BYTES } from '../../base/limits.ts';
import type { Arrival } from '../../protocol/event.ts';
import { readEpochs, sharedUpTo } from '../layout/epochs.ts';
import { type ArrivalChunk, ArrivalReader } from '../read/arrivalReader.ts';
import type { DecodedEvent } from '../read/arrivalRow.ts';
import type { Restored } from './restore.ts';

/** Chunks of which nothing can be read, one after another, from which on ever more is left out at a time. */
const PATIENCE = 20;
/** Where the newest event cannot be found: how many may have come behind those whose keys are in the file (keys.ts). */
const SEQS_BEHIND = 200_000;

/** A database that a restore has replaced: only read, and as far as that goes, past every page that is damaged. */
export class ReplacedDatabase {
  readonly #db: Database.Database;
  readonly #reader: ArrivalReader;
  /** The events after this seq are not in the backup. */
  readonly after: number;
  readonly #lastSeq: number;
  /** Up to here events may have been pruned. */
  readonly #prunedSeq: number;
  /** Seqs whose event could not be read. */
  unreadable = 0;
  /** The last one that could, and what has been counted as unreadable since. */
  #read: number;
  #countedSince = 0;

  private constructor(db: Database.Database, restored: Restored) {
    this.#db = db;
    this.#reader = new ArrivalReader(db);
    const number = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
    this.#lastSeq =
      ifReadable(() => number('SELECT max(seq) FROM event')) ??
      number('SELECT max(up_to, counted_up_to) FROM flushed') + SEQS_BEHIND;
    this.#prunedSeq = ifReadable(() => this.#reader.prunedSeq) ?? 0;
    const epochs = ifReadable(() => readEpochs(db)) ?? [];
    this.after = Math.min(sharedUpTo(epochs, restored.epochs) ?? 0, restored.lastSeq);
    this.#read = this.after;
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
      const { events, upTo } = ifReadable(() => this.#between(from, to)) ?? this.#oneByOne(from, to);
      if (events.length > 0) yield events;
      lost = events.length === 0 && this.unreadable > before ? lost + 1 : 0;
      const left =
        lost > PATIENCE ? Math.min(BATCH_EVENTS * 2 ** (lost - PATIENCE), this.#lastSeq - upTo) : 0;
      this.#count(left);
      from = upTo + left + 1;
    }
    this.#countVanished(ifReadable(() => this.#reader.lastSeq) ?? this.#lastSeq);
  }

  #between(from: number, to: number): Pick<ArrivalChunk, 'events' | 'upTo'> {
    const { damaged, ...chunk } = this.#reader.between(from, to, this.#onEvent);
    this.#count(damaged);
    return chunk;
  }

  /** Where a page of a chunk is damaged: what lies on the others. */
  #oneByOne(from: number, to: number): Pick<ArrivalChunk, 'events' | 'upTo'> {
    const events: DecodedEvent[] = [];
    let bytes = 0;
    for (let seq = from; seq <= to; seq++) {
      if (bytes > READ_CHUNK_BYTES) return { events, upTo: seq - 1 };
      try {
        const event = this.#reader.one(seq, this.#onEvent);
        if (event === undefined) continue;
        bytes += event.payload.length;
        events.push(event);
      } catch {
        this.#count(1);
      }
    }
    return { events, upTo: to };
  }

  readonly #onEvent = (seq: number): void => {
    this.#read = seq;
    this.#countedSince = 0;
  };

  #count(unreadable: number): void {
    this.unreadable += unreadable;
    this.#countedSince += unreadable;
  }

  /** A page that can be read may have lost events. @param stored an event had this seq. */
  #countVanished(stored: number): void {
    const missing = stored - Math.max(this.#read, this.#prunedSeq) - this.#countedSince;
    if (missing > 0) this.#count(missing);
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
