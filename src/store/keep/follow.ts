import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { createPartial, publish, removeLeftovers, removePartial } from '../../base/atomicFile.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS } from '../../base/limits.ts';
import { cannotWrite, OperatorError } from '../../base/operatorError.ts';
import { type Epoch, LAST_GIVEN_SEQ, readEpochs } from '../db/epochs.ts';
import { headerOf } from '../db/fileHeader.ts';
import { makeLayout, SCHEMA_VERSION } from '../db/schema.ts';
import { overwriteDeleted } from '../db/secureDelete.ts';
import { COPY_STEP } from '../db/sizes.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import { layoutFault } from '../db/startFault.ts';
import { withDatabase } from '../db/withDatabase.ts';
import { lookOf } from '../read/arrivalLog.ts';
import { type Row, readTables, type Tables, writeTables } from './copyTables.ts';

/** What differs of two events; the mark of an erasure too, since that of a damaged event keeps its checksum. */
const LOOK = 'checksum * 2 + ifnull(erased, 0)';
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

interface Have {
  readonly epochs: readonly Pick<Epoch, 'name' | 'shippedSeq'>[];
  /** Of its last event: seq, and time of receipt. */
  readonly last: readonly [number, number] | undefined;
  /** The next events to be compared, with their checksums; undefined: none are. */
  readonly compare: ReadonlyMap<number, number> | undefined;
}

interface Part {
  readonly epochs: readonly string[];
  readonly lastGiven: number;
  readonly last: readonly [number, number] | undefined;
  readonly tables: Tables;
  readonly events: readonly Row[];
  readonly isAll: boolean;
  /** How many events the box has, and its finished erasures: what else changes them than events that come was a deletion, or an erasure. */
  readonly total: number;
  readonly erasures: string;
  readonly changed: readonly Row[];
  readonly gone: readonly number[];
}

/**
 * Keeps an ordinary database of courtd's in another place as the box's is: the events behind its last one, and what was deleted or
 * erased. It reads the box and then writes the copy, each by a connection of its own: a disk that hangs holds nothing of the box.
 * The copy has a rollback journal, so any file system will do, and its follower may be killed, or its power cut, anywhere.
 */
export class CopyFollower {
  readonly #box: DataDirectory;
  readonly #place: string;
  readonly #file: string;
  /** The copy was on a disk of its own: then no copy begins while that disk is not mounted. */
  #isElsewhere = false;
  /** The seq that a comparison of all events has reached; undefined: none runs. */
  #compared: number | undefined;
  #comparedAt = Number.NEGATIVE_INFINITY;
  /** As of the beginning of the last comparison, with what came since. */
  #total = -1;
  #erasures = '';
  #isSettled = false;
  #state: CopyState | undefined;
  #seen = '';

  constructor(box: DataDirectory, place: string) {
    this.#box = box;
    this.#place = place;
    this.#file = path.join(place, 'courtd.db');
  }

  /**
   * Brings the copy up to date.
   * @param on is called after each transaction. @throws {ForeignCopy}, and {OperatorError} if it fails for now.
   */
  async round(on: (state: CopyState) => void): Promise<void> {
    const box = lookOf(this.#box);
    const look = () => box + this.#onCopy(() => this.#copyLook());
    if (this.#state !== undefined && this.#seen === look()) return on(this.#state);
    this.#seen = '';
    try {
      for (let isDone = false; !isDone; await setImmediate()) {
        isDone = await this.#step();
        if (this.#state !== undefined) on(this.#state);
      }
    } catch (error) {
      // Another disk may come now, of which nothing has been compared.
      [this.#compared, this.#comparedAt, this.#total] = [undefined, -Infinity, -1];
      throw error;
    }
    if (this.#isSettled) this.#seen = look();
  }

  /** @returns whether it has come to the end of the log, and no comparison runs. */
  async #step(): Promise<boolean> {
    const copy = this.#onCopy(() => this.#open());
    try {
      const have = this.#onCopy(() => this.#look(copy));
      const read = (db: Database.Database) => db.transaction(() => this.#read(db, have))();
      const part = await withDatabase({ data: this.#box }, read);
      if (this.#isEarlier(have, part)) {
        copy.close();
        this.#onCopy(() => this.#setAside(have.epochs[0]!.name));
        return false;
      }
      this.#onCopy(() => copy.transaction(() => this.#write(copy, part)).immediate());
      this.#isElsewhere =
        this.#onCopy(() => fs.statSync(this.#place).dev) !== fs.statSync(this.#box.path).dev;
      const seq = Number(part.events.at(-1)?.[0] ?? have.last?.[0] ?? 0);
      this.#state = { epoch: part.epochs.at(-1)!, seq };
      return this.#follow(part, have.compare);
    } finally {
      copy.close();
    }
  }

  #copyLook(): string {
    const stat = fs.statSync(this.#file, { throwIfNoEntry: false, bigint: true });
    return stat === undefined ? '' : `${stat.dev}:${stat.ino}:${stat.mtimeNs}:${stat.size}`;
  }

  #open(): Database.Database {
    const stat = fs.statSync(this.#place, { throwIfNoEntry: false });
    if (stat?.isDirectory() !== true)
      throw new OperatorError(`There is no directory ${this.#place}. Mount its disk, or create it.`);
    if (fs.lstatSync(this.#file, { throwIfNoEntry: false }) === undefined) {
      if (this.#isElsewhere && stat.dev === fs.statSync(this.#box.path).dev)
        throw new OperatorError(`The copy's disk is not mounted on ${this.#place}. Mount it.`);
      createCopy(this.#file);
    }
    refuseForeign(this.#file);
    const copy = openCopy(this.#file);
    try {
      const fault = layoutFault(copy) ?? usedBy(copy);
      if (fault === undefined) return copy;
      throw new ForeignCopy(`${this.#file} ${fault}. Move it away, or name another directory.`);
    } catch (error) {
      copy.close();
      throw error;
    }
  }

  #look(copy: Database.Database): Have {
    // Anybody may have made the file, with anything in it.
    const epochs = `SELECT substr(name, 1, 100) AS name, shipped_seq AS shippedSeq FROM epoch ORDER BY id DESC LIMIT 99`;
    const next = `SELECT seq, ${LOOK} FROM event WHERE seq > ? ORDER BY seq LIMIT ${COPY_STEP.events}`;
    return {
      epochs: copy.prepare<[], Have['epochs'][number]>(epochs).all(),
      last: lastOf(copy),
      compare:
        this.#compared === undefined
          ? undefined
          : new Map(copy.prepare<[number], [number, number]>(next).raw().all(this.#compared)),
    };
  }

  #read(db: Database.Database, { last, compare }: Have): Part {
    const number = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
    const after = last?.[0] ?? 0;
    const events: Row[] = [];
    let bytes = 0;
    const rows = db.prepare<[number], Row>('SELECT * FROM event WHERE seq > ? ORDER BY seq').raw();
    for (const row of rows.safeIntegers().iterate(after)) {
      events.push(row);
      for (const value of row) if (typeof value === 'string') bytes += value.length;
      if (events.length === COPY_STEP.events || bytes > COPY_STEP.bytes) break;
    }
    const finished = 'SELECT hex(player), at_ms, finished_ms FROM erasure WHERE finished_ms IS NOT NULL';
    const part = {
      isAll: number('SELECT max(seq) FROM event') <= Number(events.at(-1)?.[0] ?? after),
      total: number('SELECT sum(events) FROM session_total'),
      erasures: JSON.stringify(db.prepare(finished).raw().all()),
      events,
    };
    return {
      ...part,
      epochs: readEpochs(db).map(({ name }) => name),
      lastGiven: number(`SELECT ${LAST_GIVEN_SEQ}`),
      last: lastOf(db, after),
      tables: readTables(db, this.#compared === undefined && !this.#isChanged(part)),
      ...this.#differing(db, compare),
    };
  }

  #differing(db: Database.Database, compare: Have['compare']): Pick<Part, 'changed' | 'gone'> {
    if (compare === undefined || compare.size === 0) return { changed: [], gone: [] };
    const seqs = [...compare.keys()];
    const between = `SELECT seq, ${LOOK} FROM event WHERE seq > ? AND seq <= ?`;
    const own = db.prepare<number[], [number, number]>(between).raw().all(this.#compared!, seqs.at(-1)!);
    const row = db.prepare<[number], Row>('SELECT * FROM event WHERE seq = ?').raw().safeIntegers();
    const stored = new Set(own.map(([seq]) => seq));
    return {
      changed: own.flatMap(([seq, checksum]) => (compare.get(seq) === checksum ? [] : [row.get(seq)!])),
      gone: seqs.filter((seq) => !stored.has(seq)),
    };
  }

  /** @returns whether it is of an earlier epoch of this box. @throws {ForeignCopy} if it is of another box. */
  #isEarlier({ epochs, last }: Have, part: Part): boolean {
    if (epochs.length === 0) return false;
    const newest = part.epochs.at(-1);
    const isSame = epochs[0]!.name === newest;
    const shared = epochs.findIndex(({ name }) => part.epochs.includes(name));
    // A restore may have taken epochs back. One that an operator began belongs to a clone.
    const isRestored = epochs
      .slice(0, shared)
      .every((one) => EPOCH.test(one.name) && one.shippedSeq === null);
    if (shared >= 0 && isRestored && !epochs.some(({ name }) => name === newest)) return true;
    const isAhead = (last?.[0] ?? 0) > part.lastGiven;
    const isOther = part.last !== undefined && part.last[1] !== last?.[1];
    if (isSame && !isAhead && !isOther) return false;
    throw new ForeignCopy(
      isSame
        ? `${this.#file} has events that this box does not have: another box is a clone of it, or its database was put back without "courtd restore". Run "sudo courtd ship --new-epoch" here, or name another directory.`
        : `${this.#file} is the copy of another box, and was not changed. Use another disk or directory for this box.`,
    );
  }

  #setAside(epoch: string): void {
    const aside = path.join(this.#place, `courtd-${epoch}.db`);
    if (fs.existsSync(aside))
      throw new OperatorError(`${aside} exists already. Move it away; then a new copy begins.`);
    publish(this.#file, aside);
    this.#compared = undefined;
  }

  #write(copy: Database.Database, { tables, events, changed, gone }: Part): void {
    writeTables(copy, tables);
    const rows = [...changed, ...events];
    if (rows.length > 0) {
      const put = copy.prepare(`INSERT OR REPLACE INTO event VALUES (${rows[0]!.map(() => '?').join(', ')})`);
      for (const row of rows) put.run(...row);
    }
    const remove = copy.prepare('DELETE FROM event WHERE seq = ?');
    for (const seq of gone) remove.run(seq);
  }

  /** Notes what has been compared, and begins a comparison if something was deleted or erased, or the last one is a day old. */
  #follow(part: Part, compare: Have['compare']): boolean {
    const isChanged = this.#isChanged(part);
    const wasSettled = part.tables.isSettled;
    this.#total += part.events.length;
    if (compare !== undefined) {
      this.#compared = [...compare.keys()].at(-1) ?? this.#compared;
      if (compare.size < COPY_STEP.events) this.#compared = undefined;
      return false;
    }
    const agoMs = performance.now() - this.#comparedAt;
    const isDue = agoMs > COMPARE_MS.most || (isChanged && agoMs > COMPARE_MS.least);
    this.#isSettled = wasSettled && !isDue;
    if (!part.isAll || !isDue) return part.isAll;
    [this.#compared, this.#comparedAt] = [0, performance.now()];
    [this.#total, this.#erasures] = [part.total, part.erasures];
    return false;
  }

  #isChanged({
    isAll,
    total,
    erasures,
    events,
  }: Pick<Part, 'isAll' | 'total' | 'erasures' | 'events'>): boolean {
    return !isAll || total !== this.#total + events.length || erasures !== this.#erasures;
  }

  /** @throws {OperatorError} in the place of what the copy's disk does. */
  #onCopy<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw explained(error, this.#place);
    }
  }
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

/** @param seq of the event; absent: the last. @returns its seq and its time of receipt. */
function lastOf(db: Database.Database, seq?: number): readonly [number, number] | undefined {
  const which = seq === undefined ? '' : 'WHERE seq = ?';
  return db
    .prepare<number[], [number, number]>(
      `SELECT seq, received_ms FROM event ${which} ORDER BY seq DESC LIMIT 1`,
    )
    .raw()
    .get(...(seq === undefined ? [] : [seq]));
}

/** @returns why a database is no copy: a daemon has counted in it, so its counters would not match the copied rows. */
function usedBy(copy: Database.Database): string | undefined {
  const flushed = copy.prepare<[], number>('SELECT max(up_to, counted_up_to) FROM flushed').pluck().get();
  return (flushed ?? 0) === 0 ? undefined : 'is a backup, or has been served';
}

function refuseForeign(file: string): void {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  const foreign = (what: string) =>
    new ForeignCopy(`${file} ${what}, and was not changed. Move it away, or name another directory.`);
  const stat = fs.lstatSync(file);
  if (!stat.isFile()) throw foreign('is no file');
  const fd = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const { isEmpty, isOurs, version } = headerOf(fd);
    if (isEmpty) return;
    if (!isOurs) throw foreign('is no database of courtd');
    if (version > SCHEMA_VERSION) throw foreign(`was written by a newer courtd (layout ${version})`);
  } finally {
    fs.closeSync(fd);
  }
}

function explained(error: unknown, place: string): unknown {
  if (error instanceof OperatorError) return error;
  if (error instanceof Database.SqliteError) {
    const sentence = SENTENCES[failureKind(error)];
    return sentence === undefined ? error : new OperatorError(sentence(place, error.code), { cause: error });
  }
  return 'syscall' in (error as Error)
    ? new OperatorError(`${cannotWrite(place, error as NodeJS.ErrnoException)} Check its disk and its owner.`)
    : error;
}

const SENTENCES: Partial<Record<ReturnType<typeof failureKind>, (place: string, code: string) => string>> = {
  busy: (place) => `Another program has the copy in ${place} open. End it; then the copy continues.`,
  full: (place) => `The disk of ${place} is full. Make room there, or use a larger one.`,
  fatal: (place, code) =>
    `The copy in ${place} cannot be written (${code}). Check its disk ("dmesg") and its owner; FAT ends a file at 4 GiB, so use ext4.`,
  damaged: (place, code) =>
    `The copy in ${place} is damaged (${code}). Move courtd.db away, or use another disk; then a new copy begins.`,
};
