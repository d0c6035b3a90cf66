import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { publish } from '../../base/atomicFile.ts';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS, CONFLICT_COPIES, CONFLICT_COPY_BYTES } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { LAST_GIVEN_SEQ, readEpochs } from '../db/epochs.ts';
import { enterDirectory, isDatabase, makeDatabase, withDatabase } from '../db/openDatabase.ts';
import { explain } from '../db/openErrors.ts';
import { OVERWRITE_DELETED } from '../db/schema.ts';
import { COPY_EVENTS } from '../db/sizes.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { layoutFault } from '../db/startFault.ts';
import { lookOf } from '../read/arrivalLog.ts';
import { bytesOf, readEvents, readTables, writeParts } from './copyRows.ts';

/** Bytes that a table of a copy may have beyond twice those of the box, which has deleted some: anybody may have filled the copy. */
const slackBytes = (table: string) =>
  16 * 1024 ** 2 + (table === 'conflict_copy' ? CONFLICT_COPIES * CONFLICT_COPY_BYTES : 0);
/** From one comparison of all events to the next: a prune deletes some all the time. */
const COMPARE_MS = 60_000;
/** It becomes a file name, and may come from somebody else's database. */
const EPOCH = /^[0-9a-f]{24}$/;

/** The place has the copy of another box, or a file that is none: it is not touched. */
export class ForeignCopy extends OperatorError {}

/** How far a copy is, once that is on its disk. */
export interface CopyState {
  readonly epoch: string;
  /** It has every event up to here; 0: none. */
  readonly seq: number;
}

/**
 * Keeps an ordinary database of courtd's in another place as the box's is: the events behind its last one, and what was deleted or
 * erased. It reads the box and then writes the copy, each by a connection of its own: a disk that hangs holds nothing of the box.
 * The copy has a rollback journal, so any file system will do, and its follower may be killed, or its power cut, anywhere.
 */
export class CopyFollower {
  readonly #box: DataDirectory;
  readonly #place: DataDirectory;
  readonly #file: string;
  /** The place was on a disk of its own: then no copy begins while that disk is not mounted. */
  #isElsewhere = false;
  /** The deletions and finished erasures of the box that the copy has followed; undefined: nothing is known of it. */
  #followed: string | undefined;
  /** The copy as a round has left it. */
  #left: string | undefined;
  /** When deletions may be looked at again, in milliseconds of the monotonic clock. */
  #compareFrom = 0;
  /** What box and copy were when there was nothing left to do. */
  #seen: string | undefined;

  constructor(box: DataDirectory, place: string) {
    this.#box = box;
    this.#place = new DataDirectory(place);
    this.#file = this.#place.file('database');
  }

  /**
   * Brings the copy up to date.
   * @param on is called after each transaction. @throws {ForeignCopy}, and {OperatorError} if it fails for now.
   */
  async round(on: (state: CopyState) => void): Promise<void> {
    const [box, place] = [lookOf(this.#box), lookOf(this.#place)];
    if (this.#seen === box + place) return;
    // Another disk may have come, or an earlier copy of this one.
    const followed = place === this.#left ? this.#followed : undefined;
    try {
      const changes = await withDatabase({ data: this.#box }, changesOf);
      const isDue = followed === undefined || (changes !== followed && performance.now() > this.#compareFrom);
      if (isDue) this.#compareFrom = performance.now() + COMPARE_MS;
      let after = await this.#step(on);
      if (!isDue) after = Number.MAX_SAFE_INTEGER;
      while (after !== undefined) {
        await setImmediate();
        after = await this.#step(on, after);
      }
      this.#followed = isDue ? changes : followed;
      this.#left = lookOf(this.#place);
      this.#seen = this.#followed === changes ? box + this.#left : undefined;
    } catch (error) {
      if (failureKind(error) !== 'damaged') throw explain(error, this.#place);
      throw new OperatorError(
        `The copy in ${this.#place} is damaged. Move courtd.db away, or use another disk; then a new copy begins.`,
      );
    }
  }

  /**
   * One transaction of the copy.
   * @param after the seq that a comparison of all events has reached; undefined: the other tables come first.
   * @returns the seq that it has reached then; undefined: there is nothing left to do.
   */
  async #step(on: (state: CopyState) => void, after?: number): Promise<number | undefined> {
    this.#enter();
    const copy = new Database(this.#file, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
    try {
      copy.pragma(OVERWRITE_DELETED);
      copy.pragma('journal_mode = TRUNCATE');
      copy.pragma('synchronous = FULL');
      this.#assert(faultOf(copy));
      const have = haveOf(copy);
      const box = await withDatabase({ data: this.#box }, (db) =>
        db.transaction(() => boxFor(have, db, after))(),
      );
      for (const { table, where, bytes } of box.parts)
        if (bytesOf(copy, table, where) > 2 * bytes + slackBytes(table))
          this.#assert(`has far more in its table ${table} than this box`);
      const epoch = box.epochs.at(-1)!;
      const copied = readEpochs(copy).map(({ name }) => name);
      if (!box.hasLast || (copied.at(-1) ?? epoch) !== epoch) {
        copy.close();
        this.#setAside(copied, box.epochs);
        await setImmediate();
        return await this.#step(on);
      }
      copy.transaction(() => writeParts(copy, box.parts)).immediate();
      on({ epoch, seq: haveOf(copy).seq });
      return box.reached;
    } finally {
      copy.close();
    }
  }

  /** Begins a copy if there is none. @throws {OperatorError} if SQLite should open nothing there. */
  #enter(): void {
    const place = fs.statSync(this.#place.path, { throwIfNoEntry: false });
    if (!place?.isDirectory())
      throw new OperatorError(`There is no directory ${this.#place}. Mount its disk, or create it.`);
    const isElsewhere = place.dev !== fs.statSync(this.#box.path).dev;
    if (!fs.existsSync(this.#file)) {
      if (this.#isElsewhere && !isElsewhere)
        throw new OperatorError(`The copy's disk is not mounted on ${this.#place}. Mount it.`);
      makeDatabase(this.#file, 'DELETE FROM epoch');
    }
    this.#isElsewhere = isElsewhere;
    enterDirectory(this.#place);
    if (!isDatabase(this.#file)) this.#assert('is no database of courtd');
  }

  /** @param fault of the copy, as the end of a sentence. @throws {ForeignCopy} if there is one. */
  #assert(fault: string | undefined): void {
    if (fault === undefined) return;
    throw new ForeignCopy(`${this.#file} ${fault}. Move it away, or name another directory.`);
  }

  /** Makes room for a new copy. @throws {ForeignCopy} if this one is not of an earlier epoch of the box. */
  #setAside(copied: readonly string[], epochs: readonly string[]): void {
    const last = copied.at(-1)!;
    const isOfBox = epochs.some((epoch) => copied.includes(epoch));
    if (copied.includes(epochs.at(-1)!) || !isOfBox || !EPOCH.test(last))
      throw new ForeignCopy(
        `${this.#file} is the copy of another box, or of a clone of this one, and was not changed. Use another directory, or after cloning run "sudo courtd ship --new-epoch" on one of them.`,
      );
    const aside = this.#place.at(`courtd-${last}.db`);
    if (fs.existsSync(aside))
      throw new OperatorError(`${aside} exists already. Move it away; then a new copy begins.`);
    publish(this.#file, aside);
  }
}

/** @returns the first and the last event of a copy, and whether it has none of the other tables. */
function haveOf(copy: Database.Database) {
  const ends = copy.prepare<[], { first: number; seq: number; receivedMs: number | null; isNew: number }>(`
    SELECT ifnull((SELECT min(seq) FROM event), 1) AS first, ifnull(max(seq), 0) AS seq, received_ms AS receivedMs,
           NOT EXISTS (SELECT 1 FROM epoch) AS isNew FROM event`);
  return ends.get()!;
}

/**
 * @param after as of `#step`.
 * @returns what the box has for a copy. `hasLast`: it has the last event of that, or has deleted it.
 */
function boxFor(have: ReturnType<typeof haveOf>, db: Database.Database, after?: number) {
  const { first, seq, isNew } = have;
  const look = db.prepare<[object], { hasLast: number; upTo: number }>(`
    SELECT ifnull((SELECT received_ms IS @receivedMs FROM event WHERE seq = @seq), @seq <= ${LAST_GIVEN_SEQ}) AS hasLast,
           ifnull(max(seq), @seq) AS upTo FROM (SELECT seq FROM event WHERE seq > @seq ORDER BY seq LIMIT ${COPY_EVENTS})`);
  const { hasLast, upTo } = look.get(have)!;
  const box = { hasLast, epochs: readEpochs(db).map(({ name }) => name) };
  if (after === undefined || isNew) return { ...box, parts: readTables(db), reached: 0 };
  const from = Math.min(Math.max(after, first - 1), seq);
  const reached = Math.min(from + COPY_EVENTS, seq);
  const parts = [...readEvents(db, from, reached), ...readEvents(db, seq, upTo)];
  const isLast = reached === seq && parts.at(-1)!.rows.length < COPY_EVENTS;
  return { ...box, parts, reached: isLast ? undefined : reached };
}

/** @returns a text that differs after each deletion and each finished erasure. */
function changesOf(db: Database.Database): string {
  const sql = `SELECT concat(${LAST_GIVEN_SEQ} - (SELECT total(events) FROM session_total), ' ', (SELECT sum(finished_ms) FROM erasure))`;
  return db.prepare<[], string>(sql).pluck().get()!;
}

/** @returns why a database is no copy. Where a daemon has counted, the counters would not match the copied rows. */
function faultOf(copy: Database.Database): string | undefined {
  const counted =
    "SELECT 'is a backup, or has been served' FROM flushed WHERE up_to > 0 OR counted_up_to > 0";
  return layoutFault(copy) ?? copy.prepare<[], string>(counted).pluck().get();
}
