import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { publish } from '../../base/atomicFile.ts';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS, CONFLICT_COPIES, CONFLICT_COPY_BYTES } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { LAST_GIVEN_SEQ, readEpochs } from '../db/epochs.ts';
import { isDatabase, makeDatabase } from '../db/newDatabase.ts';
import { enterDirectory, withDatabase } from '../db/openDatabase.ts';
import { explain } from '../db/openErrors.ts';
import { overwriteDeleted } from '../db/schema.ts';
import { COPY_EVENTS } from '../db/sizes.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { layoutFault } from '../db/startFault.ts';
import { lookOf } from '../read/arrivalLog.ts';
import { readEvents, readTables, sizesOf, writeEvents, writeTables } from './copyRows.ts';

/** It becomes a file name, and may come from somebody else's database. */
const EPOCH = /^[0-9a-f]{24}$/;
/** Between two comparisons of all events. Deletions and erasures begin one earlier, but not more often than each minute. */
const COMPARE_MS = { least: 60_000, most: 86_400_000 } as const;

/** Bytes that a table of a copy may have beyond twice those of the box, which has deleted some: anybody may have filled the copy. */
const slackBytes = (table: string) =>
  16 * 1024 ** 2 + (table === 'conflict_copy' ? CONFLICT_COPIES * CONFLICT_COPY_BYTES : 0);

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
  /** The copy was on a disk of its own: then no copy begins while that disk is not mounted. */
  #isElsewhere = false;
  /** The seq that a comparison of all events of the copy with those of the box has reached; undefined: none is running. */
  #reached: number | undefined;
  /** When the last one began, and the deletions and finished erasures of the box then. */
  #comparedAt = Number.NEGATIVE_INFINITY;
  #changes = '';
  #state: CopyState | undefined;
  /** Whether everything that was deleted or erased has been compared. */
  #isSettled = false;
  /** What box and copy were when there was nothing left to do; empty: there is. */
  #seen = '';

  constructor(box: DataDirectory, place: string) {
    this.#box = box;
    this.#place = new DataDirectory(place);
    this.#file = this.#place.file('database');
  }

  /**
   * Brings the copy up to date.
   * @param on is called after each transaction, or once. @throws {ForeignCopy}, and {OperatorError} if it fails for now.
   */
  async round(on: (state: CopyState) => void): Promise<void> {
    const box = lookOf(this.#box);
    const look = () => box + lookOf(this.#place);
    try {
      if (this.#state !== undefined && this.#seen === look()) return on(this.#state);
      while (await this.#step(on)) await setImmediate();
      this.#seen = this.#isSettled ? look() : '';
    } catch (error) {
      // Another disk may come now, of which nothing has been compared.
      [this.#reached, this.#comparedAt] = [undefined, Number.NEGATIVE_INFINITY];
      throw explained(error, this.#place);
    }
  }

  /** One transaction of the copy. @returns whether there is more to do. */
  async #step(on: (state: CopyState) => void): Promise<boolean> {
    const copy = this.#open();
    try {
      const have = haveOf(copy, this.#reached);
      const part = await withDatabase({ data: this.#box }, (db) => db.transaction(() => partFor(have, db))());
      for (const [table, bytes] of sizesOf(copy, have.comparedAfter ?? have.seq))
        if (bytes > 2 * (part.sizes.get(table) ?? 0) + slackBytes(table))
          throw this.#foreign(`has far more in its table ${table} than this box`);
      const epochs = readEpochs(copy).map(({ name }) => name);
      if (isEarlier(this.#file, { ...have, epochs }, part)) {
        copy.close();
        this.#setAside(epochs.at(-1)!);
        return true;
      }
      const { behind, compared } = part;
      const write = () => {
        writeTables(copy, part.tables);
        for (const events of [behind, compared]) if (events !== undefined) writeEvents(copy, events);
      };
      copy.transaction(write).immediate();
      this.#isElsewhere = !this.#isOnDiskOfBox();
      const seq = Number([...behind.events.values()].at(-1)?.[0] ?? have.seq);
      this.#state = { epoch: part.epochs.at(-1)!, seq };
      on(this.#state);
      if (compared !== undefined) this.#reached = compared.upTo < have.seq ? compared.upTo : undefined;
      if (behind.events.size === COPY_EVENTS || this.#reached !== undefined) return true;
      return this.#compare(part.changes);
    } finally {
      copy.close();
    }
  }

  /** Begins a comparison if something was deleted or erased, or the last one is a day old. @returns whether it does. */
  #compare(changes: string): boolean {
    const agoMs = performance.now() - this.#comparedAt;
    this.#isSettled = changes === this.#changes;
    if (agoMs <= (this.#isSettled ? COMPARE_MS.most : COMPARE_MS.least)) return false;
    [this.#reached, this.#comparedAt, this.#changes] = [0, performance.now(), changes];
    return true;
  }

  #isOnDiskOfBox(): boolean {
    return fs.statSync(this.#place.path).dev === fs.statSync(this.#box.path).dev;
  }

  #open(): Database.Database {
    if (fs.statSync(this.#place.path, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new OperatorError(`There is no directory ${this.#place}. Mount its disk, or create it.`);
    if (!fs.existsSync(this.#file)) {
      if (this.#isElsewhere && this.#isOnDiskOfBox())
        throw new OperatorError(`The copy's disk is not mounted on ${this.#place}. Mount it.`);
      makeDatabase(this.#file, (db) => db.exec('DELETE FROM epoch'));
    }
    enterDirectory(this.#place);
    if (!isDatabase(this.#file)) throw this.#foreign('is no database of courtd');
    const copy = new Database(this.#file, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
    try {
      overwriteDeleted(copy);
      copy.pragma('journal_mode = TRUNCATE');
      copy.pragma('synchronous = FULL');
      const fault = faultOf(copy);
      if (fault === undefined) return copy;
      throw this.#foreign(fault);
    } catch (error) {
      copy.close();
      throw error;
    }
  }

  #foreign(fault: string): ForeignCopy {
    return new ForeignCopy(`${this.#file} ${fault}. Move it away, or name another directory.`);
  }

  #setAside(epoch: string): void {
    const aside = this.#place.at(`courtd-${epoch}.db`);
    if (fs.existsSync(aside))
      throw new OperatorError(`${aside} exists already. Move it away; then a new copy begins.`);
    publish(this.#file, aside);
    [this.#reached, this.#comparedAt] = [undefined, Number.NEGATIVE_INFINITY];
  }
}

/** @param reached as of a comparison. @returns what a copy has. */
function haveOf(copy: Database.Database, reached: number | undefined) {
  const ends = copy.prepare<[], { first: number; seq: number; receivedMs?: number }>(
    'SELECT (SELECT min(seq) FROM event) AS first, seq, received_ms AS receivedMs FROM event ORDER BY seq DESC LIMIT 1',
  );
  const { first, ...last } = ends.get() ?? { first: 0, seq: 0 };
  const comparedAfter = reached === undefined ? undefined : Math.max(reached, first - 1);
  return { ...last, comparedAfter };
}

type Have = ReturnType<typeof haveOf>;

/** @returns what the box has for a copy. */
function partFor({ seq, comparedAfter: after }: Have, db: Database.Database) {
  const number = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
  const lastGiven = number(`SELECT ${LAST_GIVEN_SEQ}`);
  const deleted = lastGiven - number('SELECT sum(events) FROM session_total');
  return {
    epochs: readEpochs(db).map(({ name }) => name),
    sizes: sizesOf(db, after ?? seq),
    lastGiven,
    /** When the box received the event that is the last one of the copy; undefined if it has been deleted. */
    receivedMs: db.prepare<[number], number>('SELECT received_ms FROM event WHERE seq = ?').pluck().get(seq),
    changes: `${deleted} ${number('SELECT sum(finished_ms) FROM erasure')}`,
    tables: readTables(db),
    behind: readEvents(db, seq),
    compared: after === undefined ? undefined : readEvents(db, after, after + COPY_EVENTS),
  };
}

/** @returns whether a copy is of an earlier epoch of this box. @throws {ForeignCopy} if it is of another box. */
function isEarlier(
  file: string,
  have: Have & { epochs: string[] },
  part: ReturnType<typeof partFor>,
): boolean {
  const [copied, current] = [have.epochs.at(-1), part.epochs.at(-1)!];
  const isOther = part.receivedMs !== undefined && part.receivedMs !== have.receivedMs;
  const isSame = copied === current && have.seq <= part.lastGiven && !isOther;
  if (copied === undefined || isSame) return false;
  const isOfBox = part.epochs.some((epoch) => have.epochs.includes(epoch));
  if (isOfBox && !have.epochs.includes(current) && EPOCH.test(copied)) return true;
  throw new ForeignCopy(
    `${file} is the copy of another box, or of a clone of this one, and was not changed. Use another directory, or after cloning run "sudo courtd ship --new-epoch" on one of them.`,
  );
}

/** @returns why a database is no copy. Where a daemon has counted, the counters would not match the copied rows. */
function faultOf(copy: Database.Database): string | undefined {
  const fault = layoutFault(copy);
  if (fault !== undefined) return fault;
  const flushed = copy.prepare<[], number>('SELECT max(up_to, counted_up_to) FROM flushed').pluck().get();
  return flushed === 0 ? undefined : 'is a backup, or has been served';
}

/** @returns the failure of a copy as an {OperatorError}, as far as it is foreseen. */
function explained(error: unknown, place: DataDirectory): unknown {
  if (failureKind(error) !== 'damaged') return explain(error, place);
  return new OperatorError(
    `The copy in ${place} is damaged. Move courtd.db away, or use another disk; then a new copy begins.`,
  );
}
