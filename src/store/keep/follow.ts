import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { createPartial, publish, removeLeftovers, removePartial } from '../../base/atomicFile.ts';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { enterDirectory } from '../db/enterDirectory.ts';
import { type Epoch, LAST_GIVEN_SEQ, readEpochs } from '../db/epochs.ts';
import { readHeader } from '../db/fileHeader.ts';
import { explain } from '../db/openErrors.ts';
import { makeLayout, SCHEMA_VERSION } from '../db/schema.ts';
import { overwriteDeleted } from '../db/secureDelete.ts';
import { COPY_STEP } from '../db/sizes.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { layoutFault } from '../db/startFault.ts';
import { withDatabase } from '../db/withDatabase.ts';
import { lookOf } from '../read/arrivalLog.ts';
import { differingEvents, looksOf, writeEvents } from './copyEvents.ts';
import { readTables, writeTables } from './copyTables.ts';

/** It becomes a file name, and may come from somebody else's database. */
const EPOCH = /^[0-9a-f]{24}$/;
/** Between two comparisons of all events. Deletions and erasures begin one earlier, but not more often than each minute. */
const COMPARE_MS = { least: 60_000, most: 86_400_000 } as const;

/** The place has the copy of another box, or a file that is none: it is not touched. */
export class ForeignCopy extends OperatorError {}

/** How far a copy is, once that is on its disk. */
export interface CopyState {
  readonly epoch: string;
  /** It has every event up to here; 0: none. */
  readonly seq: number;
}

/** A comparison of all events of the copy with those of the box. */
interface Comparison {
  /** The deletions and finished erasures of the box when it began. */
  readonly changes: string;
  readonly beganAt: number;
  /** The seq that it has reached; undefined: it has ended. */
  readonly reached: number | undefined;
}

const NEVER: Comparison = { changes: '', beganAt: Number.NEGATIVE_INFINITY, reached: undefined };

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
  #comparison = NEVER;
  #isSettled = false;
  #state: CopyState | undefined;
  #seen = '';

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
    const box = lookOf(this.#box);
    const look = () => box + this.#copyLook();
    try {
      if (this.#state !== undefined && this.#seen === look()) return on(this.#state);
      this.#seen = '';
      for (let isDone = false; !isDone; await setImmediate()) {
        isDone = await this.#step();
        if (this.#state !== undefined) on(this.#state);
      }
      if (this.#isSettled) this.#seen = look();
    } catch (error) {
      // Another disk may come now, of which nothing has been compared.
      this.#comparison = NEVER;
      throw explained(error, this.#place);
    }
  }

  /** @returns whether it has come to the end of the log, and no comparison runs. */
  async #step(): Promise<boolean> {
    const copy = this.#open();
    try {
      const have = haveOf(copy, this.#comparison);
      const read = (db: Database.Database) => db.transaction(() => partFor(have, db, this.#comparison))();
      const part = await withDatabase({ data: this.#box }, read);
      if (isEarlier(this.#file, have, part)) {
        copy.close();
        this.#setAside(have.epochs[0]!.name);
        return false;
      }
      const write = () => {
        writeTables(copy, part.tables);
        for (const events of [part.compared, part.behind]) if (events) writeEvents(copy, events);
      };
      copy.transaction(write).immediate();
      this.#isElsewhere = !this.#isOnDiskOfBox();
      this.#state = { epoch: part.epochs.at(-1)!, seq: part.behind.upTo };
      return this.#follow(part);
    } finally {
      copy.close();
    }
  }

  #copyLook(): string {
    const stat = fs.statSync(this.#file, { throwIfNoEntry: false, bigint: true });
    return stat === undefined ? '' : `${stat.dev}:${stat.ino}:${stat.mtimeNs}:${stat.size}`;
  }

  #isOnDiskOfBox(): boolean {
    return fs.statSync(this.#place.path).dev === fs.statSync(this.#box.path).dev;
  }

  #open(): Database.Database {
    if (fs.statSync(this.#place.path, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new OperatorError(`There is no directory ${this.#place}. Mount its disk, or create it.`);
    if (fs.lstatSync(this.#file, { throwIfNoEntry: false }) === undefined) {
      if (this.#isElsewhere && this.#isOnDiskOfBox())
        throw new OperatorError(`The copy's disk is not mounted on ${this.#place}. Mount it.`);
      createCopy(this.#file);
    }
    enterDirectory(this.#place);
    const { isEmpty, isOurs, version } = readHeader(this.#file);
    if (!isEmpty && !isOurs) throw this.#foreign('is no database of courtd');
    if (version > SCHEMA_VERSION) throw this.#foreign(`was written by a newer courtd (layout ${version})`);
    const copy = openCopy(this.#file);
    try {
      const fault = layoutFault(copy) ?? usedBy(copy);
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
    this.#comparison = NEVER;
  }

  /** Notes what has been compared, and begins a comparison if something was deleted or erased, or the last one is a day old. */
  #follow({ changes, compared, behind }: Part): boolean {
    const { beganAt, reached } = this.#comparison;
    if (compared !== undefined) {
      const isOver = compared.upTo === reached;
      this.#comparison = { ...this.#comparison, reached: isOver ? undefined : compared.upTo };
      return false;
    }
    const isChanged = changes !== this.#comparison.changes;
    const agoMs = performance.now() - beganAt;
    const isDue = agoMs > COMPARE_MS.most || (isChanged && agoMs > COMPARE_MS.least);
    this.#isSettled = !isChanged && !isDue;
    if (!behind.isAll || !isDue) return behind.isAll;
    this.#comparison = { changes, beganAt: performance.now(), reached: 0 };
    return false;
  }
}

/** @returns what a copy has. */
function haveOf(copy: Database.Database, { reached }: Comparison) {
  // Anybody may have made the file, with anything in it.
  const epochs = copy.prepare<[], Pick<Epoch, 'name' | 'shippedSeq'>>(
    'SELECT substr(name, 1, 100) AS name, shipped_seq AS shippedSeq FROM epoch ORDER BY id DESC LIMIT 99',
  );
  const last = copy.prepare<[], [seq: number, receivedMs: number]>(
    'SELECT seq, received_ms FROM event ORDER BY seq DESC LIMIT 1',
  );
  return {
    epochs: epochs.all(),
    last: last.raw().get(),
    /** The next events to be compared; undefined: none are. */
    looks: reached === undefined ? undefined : looksOf(copy, reached, COPY_STEP.events),
  };
}

type Have = ReturnType<typeof haveOf>;

/** @returns what the box has for a copy. */
function partFor({ last, looks }: Have, db: Database.Database, { changes: known, reached }: Comparison) {
  const number = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
  const lastGiven = number(`SELECT ${LAST_GIVEN_SEQ}`);
  const deleted = lastGiven - number('SELECT sum(events) FROM session_total');
  const changes = `${deleted} ${number('SELECT sum(finished_ms) FROM erasure')}`;
  const after = last?.[0] ?? 0;
  return {
    epochs: readEpochs(db).map(({ name }) => name),
    lastGiven,
    /** When the box received the event that is the last one of the copy; undefined if it has been deleted. */
    lastMs: db.prepare<[number], number>('SELECT received_ms FROM event WHERE seq = ?').pluck().get(after),
    changes,
    tables: readTables(db, reached === undefined && changes === known),
    compared: looks && differingEvents(db, reached!, [...looks.keys()].at(-1) ?? reached!, looks),
    behind: differingEvents(db, after),
  };
}

type Part = ReturnType<typeof partFor>;

/** @returns whether a copy is of an earlier epoch of this box. @throws {ForeignCopy} if it is of another box. */
function isEarlier(file: string, { epochs, last }: Have, part: Part): boolean {
  if (epochs.length === 0) return false;
  const newest = part.epochs.at(-1);
  const isSame = epochs[0]!.name === newest;
  const shared = epochs.findIndex(({ name }) => part.epochs.includes(name));
  // A restore may have taken epochs back. One that an operator began belongs to a clone.
  const isRestored = epochs.slice(0, shared).every((one) => EPOCH.test(one.name) && one.shippedSeq === null);
  if (shared >= 0 && isRestored && !epochs.some(({ name }) => name === newest)) return true;
  const isAhead = (last?.[0] ?? 0) > part.lastGiven;
  const isOther = part.lastMs !== undefined && part.lastMs !== last?.[1];
  if (isSame && !isAhead && !isOther) return false;
  throw new ForeignCopy(
    isSame
      ? `${file} has events that this box does not have: another box is a clone of it, or its database was put back without "courtd restore". Run "sudo courtd ship --new-epoch" here, or name another directory.`
      : `${file} is the copy of another box, and was not changed. Use another disk or directory for this box.`,
  );
}

/** Gives a new copy its name once it has its tables: a power cut before that would leave a file that is nobody's. */
function createCopy(file: string): void {
  removeLeftovers(path.dirname(file), (name) => name === path.basename(file));
  const partial = createPartial(file);
  openCopy(partial).close();
  publish(partial, file);
  removePartial(partial);
}

function openCopy(file: string): Database.Database {
  const copy = new Database(file, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
  try {
    overwriteDeleted(copy);
    copy.pragma('journal_mode = TRUNCATE');
    copy.pragma('synchronous = FULL');
    if (copy.pragma('user_version', { simple: true }) !== SCHEMA_VERSION)
      makeLayout(copy, (isNew) => isNew && copy.exec('DELETE FROM epoch'));
    return copy;
  } catch (error) {
    copy.close();
    throw error;
  }
}

/** @returns why a database is no copy: a daemon has counted in it, so its counters would not match the copied rows. */
function usedBy(copy: Database.Database): string | undefined {
  const flushed = copy.prepare<[], number>('SELECT max(up_to, counted_up_to) FROM flushed').pluck().get();
  return (flushed ?? 0) === 0 ? undefined : 'is a backup, or has been served';
}

/** @returns the failure of a copy as an {OperatorError}, as far as it is foreseen. */
function explained(error: unknown, place: DataDirectory): unknown {
  if (failureKind(error) !== 'damaged') return explain(error, place);
  return new OperatorError(
    `The copy in ${place} is damaged. Move courtd.db away, or use another disk; then a new copy begins.`,
  );
}
