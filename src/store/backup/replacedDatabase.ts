import fs from 'node:fs';
import Database from 'better-sqlite3';
import { BATCH_EVENTS, COMMAND_BUSY_MS, READ_CHUNK_BYTES } from '../../base/limits.ts';
import type { Arrival } from '../../protocol/event.ts';
import { readEpochs, sharedUpTo } from '../layout/epochs.ts';
import { ArrivalReader } from '../read/arrivalReader.ts';
import type { Restored } from './restore.ts';

/** Chunks of which nothing can be read, one after another, from which on ever more is left out at a time. */
const PATIENCE = 20;

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
      const { events, upTo, damaged } =
        ifReadable(() => this.#reader.between(from, to)) ?? this.#oneByOne(from, to);
      this.unreadable += damaged;
      if (events.length > 0) yield events;
      lost = events.length === 0 && this.unreadable > before ? lost + 1 : 0;
      const left =
        lost > PATIENCE ? Math.min(BATCH_EVENTS * 2 ** (lost - PATIENCE), this.#lastSeq - upTo) : 0;
      this.unreadable += left;
      from = upTo + left + 1;
    }
  }

  /** Where a page of a chunk is damaged: what lies on the others. */
  #oneByOne(from: number, to: number): ReturnType<ArrivalReader['between']> {
    const events: Arrival[] = [];
    let [bytes, damaged] = [0, 0];
    for (let seq = from; seq <= to; seq++) {
      if (bytes > READ_CHUNK_BYTES) return { events, upTo: seq - 1, damaged };
      try {
        const event = this.#reader.one(seq);
        if (event === undefined) continue;
        bytes += event.payload.length;
        events.push(event);
      } catch {
        damaged++;
      }
    }
    return { events, upTo: to, damaged };
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
