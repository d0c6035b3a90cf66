import { hash } from 'node:crypto';
import fs from 'node:fs';
import zlib from 'node:zlib';
import Database from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS, REFUSED_BYTES } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { createPrivateIfMissing } from '../../base/privateFile.ts';
import type { EventKey } from '../../protocol/bodyParts.ts';
import { explain } from '../open/openErrors.ts';
import { rewriteWal } from '../open/rewriteWal.ts';
import { type Age, oldAmong } from '../retention/ageRule.ts';
import { failureKind } from '../sqlite/errors.ts';
import type { WalState } from '../wal/checkpointer.ts';
import type { RefusedBody, WaitingBody, WaitingEvents } from './refusedBody.ts';
import { type EventPlace, identified, type RefusedIndex, shortOf } from './refusedIndex.ts';
import { APPLICATION_ID, LAYOUT, PAGE_BYTES, prepareStatements, VERSION } from './refusedLayout.ts';

/** Which bodies; all of them, where nothing is given. */
interface BodyFilter {
  readonly sender?: string | undefined;
  readonly code?: string | undefined;
  readonly sinceMs?: number | undefined;
}

/** What is written of a body beside its content. */
const ROW_BYTES = 512;
/** Of the bound: what the write-ahead log may take, and what is freed at once, since finding it takes a while. */
const [WAL_PART, FREED_PART] = [1 / 8, 1 / 64];

/**
 * The bodies of refused requests, whole, until somebody has mended and imported their events, or let them go. The daemon's worker
 * thread writes it, and commands do so too: SQLite's locks keep them apart. Commits are not synced: they survive the process, and a
 * power cut leaves an older state that is whole.
 */
export class RefusedBodies {
  readonly #db: Database.Database;
  readonly #statements: ReturnType<typeof prepareStatements>;
  #bytesOf = new Map<string, number>();
  #dataVersion = 0;
  #ids: Map<string, number> | undefined;
  #usedBytes = 0;

  /** Events that waited, and were removed. */
  letGo = 0;
  readonly #bound: number;

  /**
   * @param bound of all that is kept, in bytes.
   * @throws {SqliteError} where the file cannot be opened, or is damaged.
   */
  constructor(directory: DataDirectory, bound: number = REFUSED_BYTES) {
    this.#bound = bound;
    const file = directory.file('refused');
    createPrivateIfMissing(file);
    this.#db = new Database(file, { fileMustExist: true, timeout: COMMAND_BUSY_MS });
    try {
      rewriteWal(this.#db);
      if (this.#number('user_version') === 0) this.#make();
      this.#db.pragma('synchronous = NORMAL');
      this.#db.pragma('journal_size_limit = 0');
      this.#db.pragma('wal_autocheckpoint = 0');
      this.#statements = prepareStatements(this.#db);
    } catch (error) {
      // Whoever holds it would have to be waited for twice.
      if (failureKind(error) === 'busy') this.close();
      else this.giveUp();
      throw error;
    }
  }

  close(): void {
    this.#db.close();
  }

  /** As `close`, after something has failed: a sync, it may be, and closing checkpoints what is not on the disk then. */
  giveUp(): void {
    try {
      rewriteWal(this.#db);
    } catch {
      // SQLite's own descriptor is told of it at its next sync, and it checkpoints nothing.
    }
    this.close();
  }

  /** Runs `work` in one transaction. @throws also where the disk fails a checkpoint behind it: SQLite's own would keep that to itself. */
  atOnce<Result>(work: () => Result): Result {
    const result = this.#db.transaction(work).immediate();
    const [{ log, checkpointed }] = this.#db.pragma('wal_checkpoint(NOOP)') as [WalState];
    const isDue = log >= (this.#bound * WAL_PART) / 2 / PAGE_BYTES && checkpointed < log;
    if (isDue) this.#db.pragma('wal_checkpoint(PASSIVE)');
    return result;
  }

  /**
   * Keeps a body, once. Call it inside `atOnce`.
   * @param isStored whether an event is stored already.
   * @returns false where it does not fit.
   */
  keep(body: RefusedBody, index: RefusedIndex, isStored: (key: EventKey) => boolean): boolean {
    const { bytes, ...fields } = body;
    const { insert, insertContent } = this.#statements;
    const sha256 = hash('sha256', bytes, 'buffer');
    const known = index.bodies.get(shortOf(sha256));
    if (known !== undefined && this.#statements.sha256.get(known)?.equals(sha256)) return true;
    const gzip = zlib.gzipSync(bytes, { level: zlib.constants.Z_BEST_SPEED });
    const size = sizeOf(gzip);
    if (size > this.#bound * (1 - WAL_PART - FREED_PART)) return false;
    if (this.#usedBytes + size > this.#bound * (1 - WAL_PART)) this.shrink(this.#bound - size);
    const events = identified(bytes, sha256);
    const row = { ...fields, events: events.length, sha256, bytes: size };
    const id = insert.run(row).lastInsertRowid as number;
    insertContent.run(id, gzip);
    this.#weigh(fields.sender, size);
    index.addBody(shortOf(sha256), id);
    for (const { place, key, identity } of events) {
      if (this.#hasCome(index.events.get(identity), id) || (key !== undefined && isStored(key)))
        this.#statements.done.run(place, null, id);
      index.addEvent(identity, { body: id, place });
    }
    return true;
  }

  /** An event waits only where it came last. @returns whether it was done before. */
  #hasCome(before: EventPlace | undefined, body: number): boolean {
    if (before === undefined) return false;
    const isDone = this.#statements.isDone.get(before.body, before.place) !== undefined;
    if (!isDone) this.#statements.done.run(before.place, body, before.body);
    return isDone;
  }

  /** Lets the oldest of whoever has the most go, until all that is kept takes less than that many bytes. */
  shrink(bound: number = this.#bound): void {
    this.count();
    const least = bound * (1 - WAL_PART - FREED_PART);
    while (this.#usedBytes > least) {
      const [sender] = [...this.#bytesOf].reduce((a, b) => (b[1] > a[1] ? b : a), ['', 0]);
      const oldest = this.#statements.oldest.get(sender);
      if (oldest === undefined) return;
      this.#remove(oldest.id);
      this.#weigh(sender, -oldest.bytes);
      this.#usedBytes = this.#countPages();
    }
  }

  /** What it takes on disk, without what is free in the file. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Counts what there is: a command may have removed some. */
  count(): void {
    this.#usedBytes = this.#countPages();
    const version = this.#number('data_version');
    if (version !== this.#dataVersion) this.#bytesOf = new Map(this.#statements.bytesOf.all());
    this.#dataVersion = version;
  }

  /** @returns the ids of those that are as old as that. */
  older(age: Age): number[] {
    return oldAmong(this.#statements.times.all(), ({ ms }) => ms, age).map(({ id }) => id);
  }

  /** @returns how many events wait in those bodies. */
  waitingIn(ids: readonly number[]): number {
    return ids.reduce((sum, id) => sum + (this.#statements.waitingIn.get(id) ?? 0), 0);
  }

  /** @param ids all of them where none are given. */
  remove(ids: readonly number[] = this.#statements.times.all().map(({ id }) => id)): void {
    this.atOnce(() => {
      for (const id of ids) this.#remove(id);
    });
    this.giveBack();
  }

  /**
   * Removes those that hold something which must be gone, and every trace of them in the file.
   * @param isOne of a body, as text. @param isDry only counts them. @returns how many. One that is damaged cannot be read, and goes.
   */
  erase(isOne: (text: string) => boolean, isDry = false): number {
    const ids = this.#statements.times.all().map(({ id }) => id);
    const found = ids.filter((id) => {
      const bytes = this.#read(id);
      return bytes === undefined || isOne(bytes.toString());
    });
    if (isDry || found.length === 0) return found.length;
    this.remove(found);
    this.#db.exec('VACUUM');
    this.giveBack();
    return found.length;
  }

  /** Gives the space of what was removed back to the file system. */
  giveBack(): void {
    // Not `get` or `simple`: the pragma returns a row a page.
    this.#db.pragma('incremental_vacuum');
    this.#db.pragma('wal_checkpoint(TRUNCATE)');
  }

  /** @returns those who have events here that wait, the most events first. */
  waiting(): WaitingEvents[] {
    return this.#statements.waiting.all();
  }

  /**
   * @param onDamaged is told the request_id of each that cannot be unpacked: it is left out.
   * @yields the bodies with events that wait, in the order of receipt. What comes meanwhile is left out.
   */
  *bodies(
    filter: BodyFilter = {},
    onDamaged: (requestId: string) => void = () => {},
  ): Generator<WaitingBody> {
    const { sender = null, code = null, sinceMs = null } = filter;
    const last = this.#statements.last.get()!;
    for (let after = 0; ; ) {
      const row = this.#statements.next.get({ after, last, sender, code, sinceMs });
      if (row === undefined) return;
      const { events, gzip, ...body } = row;
      after = row.id;
      const done = new Set(this.#statements.doneIn.all(row.id));
      const all = Array.from({ length: events }, (_, place) => place);
      const bytes = unpacked(gzip);
      if (bytes === undefined) onDamaged(body.requestId);
      else yield { ...body, bytes, indexes: new Set(all).difference(done) };
    }
  }

  /** Fills an empty index with the newest of what is kept. */
  fill(index: RefusedIndex): void {
    for (const { id, sha256 } of this.#statements.newest.iterate()) {
      if (index.isFull) return;
      const bytes = this.#read(id);
      if (bytes === undefined) continue;
      index.bodies.set(shortOf(sha256), id);
      for (const { place, identity } of identified(bytes, sha256).reverse())
        if (!index.events.has(identity)) index.events.set(identity, { body: id, place });
    }
    index.reverse();
  }

  /** @returns the body of a request; undefined where it is not kept, is damaged, or the same one was kept before. */
  find(requestId: string): RefusedBody | undefined {
    const id = this.#idOf(requestId);
    const row = id === undefined ? undefined : this.#statements.body.get(id);
    const bytes = row && unpacked(row.gzip);
    return row && bytes && { ...row, bytes };
  }

  /** No index has them: whoever asks for one mostly asks for many. */
  #idOf(requestId: string): number | undefined {
    this.#ids ??= new Map(this.#statements.requests.all());
    return this.#ids.get(requestId);
  }

  /** Ticks off what has been mended and imported, wherever it has come again meanwhile. */
  tickOff(requestId: string, indexes: ReadonlySet<number>): void {
    const id = this.#idOf(requestId);
    if (id === undefined) return;
    const bytes = this.#read(id);
    // Of a damaged body the places are known all the same: its lines were exported before the damage.
    if (bytes === undefined) return this.tickOffStored([...indexes].map((place) => ({ body: id, place })));
    this.atOnce(() => {
      for (const { place, identity } of identified(bytes, hash('sha256', bytes, 'buffer')))
        if (indexes.has(place)) this.#tickOff(id, place, identity);
    });
  }

  /** Ticks off what is stored. */
  tickOffStored(places: readonly EventPlace[]): void {
    if (places.length === 0) return;
    this.atOnce(() => {
      for (const { body, place } of places) this.#statements.done.run(place, null, body);
    });
  }

  /** For another database: nothing is known to be stored. */
  forgetTicks(): void {
    this.#db.exec('DELETE FROM done WHERE moved_to IS NULL');
  }

  #tickOff(body: number, place: number, identity: string): void {
    const before = this.#statements.isDone.get(body, place);
    if (before === undefined) this.#statements.done.run(place, null, body);
    if (before === undefined || before.movedTo === null) return;
    const bytes = this.#read(before.movedTo);
    if (bytes === undefined) return;
    for (const later of identified(bytes, hash('sha256', bytes, 'buffer')))
      if (later.identity === identity && (before.movedTo > body || later.place > place))
        this.#tickOff(before.movedTo, later.place, identity);
  }

  /** @returns undefined where it is gone, or damaged. */
  #read(id: number): Buffer | undefined {
    const gzip = this.#statements.content.get(id);
    return gzip && unpacked(gzip);
  }

  #make(): void {
    this.#db.pragma('auto_vacuum = INCREMENTAL');
    this.#db.pragma('journal_mode = WAL');
    this.#db
      .transaction(() => {
        // Another process may have been faster.
        if (this.#number('user_version') === 0) this.#db.exec(LAYOUT);
        this.#db.pragma(`application_id = ${APPLICATION_ID}`);
        this.#db.pragma(`user_version = ${VERSION}`);
      })
      .exclusive();
  }

  #remove(id: number): void {
    this.letGo += this.waitingIn([id]);
    for (const remove of this.#statements.remove) remove.run(id);
  }

  #weigh(sender: string, bytes: number): void {
    this.#usedBytes += bytes;
    this.#bytesOf.set(sender, (this.#bytesOf.get(sender) ?? 0) + bytes);
  }

  #countPages(): number {
    return (this.#number('page_count') - this.#number('freelist_count')) * this.#number('page_size');
  }

  #number(pragma: string): number {
    return this.#db.pragma(pragma, { simple: true }) as number;
  }
}

/**
 * Opens the refused bodies of a data directory, for a command.
 * @returns undefined where none were ever kept.
 * @throws {OperatorError} where the file cannot be used.
 */
export function openRefused(directory: DataDirectory): RefusedBodies | undefined {
  // An empty one is the daemon's to set aside: SQLite would take it for a new one.
  if ((fs.statSync(directory.file('refused'), { throwIfNoEntry: false })?.size ?? 0) === 0) return undefined;
  try {
    return new RefusedBodies(directory);
  } catch (error) {
    throw explainRefused(error, directory);
  }
}

/** Runs `work` on them. @returns undefined where none were ever kept. @throws {OperatorError} where the file cannot be used. */
export async function withRefused<Result>(
  directory: DataDirectory,
  work: (refused: RefusedBodies) => Result | Promise<Result>,
): Promise<Result | undefined> {
  const refused = openRefused(directory);
  if (refused === undefined) return undefined;
  try {
    return await work(refused);
  } catch (error) {
    throw explainRefused(error, directory);
  } finally {
    refused.close();
  }
}

export function explainRefused(error: unknown, directory: DataDirectory): unknown {
  if (failureKind(error) !== 'damaged') return explain(error, directory);
  return new OperatorError(
    `${directory.file('refused')} is damaged: the daemon sets it aside, and begins it anew.`,
  );
}

/** @returns undefined where it is damaged: SQLite has no checksums, gzip has. */
function unpacked(gzip: Buffer): Buffer | undefined {
  try {
    return zlib.gunzipSync(gzip);
  } catch {
    return undefined;
  }
}

/** @returns the bytes that a body takes in the file: what does not fit beside others has pages of its own. */
function sizeOf({ length }: Buffer): number {
  return ROW_BYTES + (length < PAGE_BYTES / 4 ? length : Math.ceil(length / PAGE_BYTES + 0.5) * PAGE_BYTES);
}
