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
  /** Seqs whose event could not be read, some of which may never have had one; after `arrivals` exact if the counters have all events. */
  unreadable = 0;
  #read = 0;
  #lastRead: number;

  private constructor(db: Database.Database, restored: Restored) {
    this.#db = db;
    this.#reader = new ArrivalReader(db);
    const number = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
    this.#lastSeq =
      ifReadable(() => number('SELECT max(seq) FROM event')) ??
      number('SELECT max(up_to, counted_up_to) FROM flushed') + SEQS_BEHIND;
    const epochs = ifReadable(() => readEpochs(db)) ?? [];
    this.after = Math.min(sharedUpTo(epochs, restored.epochs) ?? 0, restored.lastSeq);
    this.#lastRead = this.after;
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
      this.#read += events.length;
      this.#lastRead = events.at(-1)?.seq ?? this.#lastRead;
      if (events.length > 0) yield events;
      lost = events.length === 0 && this.unreadable > before ? lost + 1 : 0;
      const left =
        lost > PATIENCE ? Math.min(BATCH_EVENTS * 2 ** (lost - PATIENCE), this.#lastSeq - upTo) : 0;
      this.unreadable += left;
      from = upTo + left + 1;
    }
    this.unreadable = ifReadable(() => this.#missing()) ?? this.unreadable;
  }

  #between(from: number, to: number): Pick<ArrivalChunk, 'events' | 'upTo'> {
    const { damaged, ...chunk } = this.#reader.between(from, to);
    this.unreadable += damaged;
    return chunk;
  }

  /** Where a page of a chunk is damaged: what lies on the others. */
  #oneByOne(from: number, to: number): Pick<ArrivalChunk, 'events' | 'upTo'> {
    const events: DecodedEvent[] = [];
    let bytes = 0;
    for (let seq = from; seq <= to; seq++) {
      if (bytes > READ_CHUNK_BYTES) return { events, upTo: seq - 1 };
      try {
        const event = this.#reader.one(seq);
        if (event === undefined) continue;
        bytes += event.payload.length;
        events.push(event);
      } catch {
        this.unreadable++;
      }
    }
    return { events, upTo: to };
  }

  /** @returns by how many the counters of a box that was stopped exceed what was read; undefined if there are events that they do not have. */
  #missing(): number | undefined {
    const [counted, upTo] = this.#db
      .prepare<[number], [number, number]>(
        `SELECT (SELECT total(events) FROM session) - (SELECT count(*) FROM event WHERE seq <= ?), counted_up_to FROM flushed`,
      )
      .raw()
      .get(this.after)!;
    return this.#lastRead > upTo ? undefined : Math.max(0, counted - this.#read);
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
