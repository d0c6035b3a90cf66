import fs from 'node:fs/promises';
import path from 'node:path';
import { reasonOf } from '../../base/operatorError.ts';
import { courtdVersion } from '../../base/version.ts';
import { CHUNK_LIMITS } from '../log/chunk.ts';
import { Fenced, startCursor } from '../ship/cursor.ts';
import { knownShipped } from '../ship/report.ts';
import type { BoxFile } from './boxFile.ts';
import { type CopyCursor, hasChunk } from './copyCursor.ts';
import { CopyErasures } from './copyErasures.ts';
import { epochsIn, fileNameOf } from './copyFiles.ts';
import {
  append,
  boxFileIn,
  CHUNKS_AT_ONCE,
  type CopyEnd,
  dayOf,
  FILE_BYTES,
  FileMoved,
  findEnd,
  makeFolder,
  ownUpTo,
  removeOld,
  settle,
  writeBoxFile,
} from './copyWriter.ts';
import type { EventFeed, LogState } from './eventFeed.ts';
import { packMember } from './members.ts';
import { type Chunk, type ChunkSink, SinkError, type SinkErrorKind } from './sink.ts';

/** How often the directory is looked at, and what is beside the log kept current. */
const LOOK_MS = 5_000;

interface CopyTarget {
  /** An existing directory. */
  readonly root: string;
  readonly box: string;
  /** The same, as it is reported. */
  readonly url: string;
}

/**
 * A directory: a stick, a network mount, another disk (fleet/copy). Its last file says where to go on, so there is no state here
 * that matters. It may go away at any moment, and come back as another one.
 */
export class DirectorySink implements ChunkSink {
  readonly isSwappable = true;
  readonly #target: CopyTarget;
  readonly #folder: string;
  readonly #feed: EventFeed;
  readonly #erasures: CopyErasures;
  /** Of each epoch that was looked at; settled. */
  #ends = new Map<string, CopyEnd | undefined>();
  /** Files with lower seqs alone have been removed from the place that was found last. */
  #removedBelow = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(target: CopyTarget, feed: EventFeed) {
    this.#target = target;
    this.#folder = path.join(target.root, target.box);
    this.#feed = feed;
    this.#erasures = new CopyErasures(this.#folder, feed);
  }

  get unfinished(): string | undefined {
    return this.#erasures.unfinished;
  }

  get erasedMs(): number | null | undefined {
    return this.#erasures.erasedMs;
  }

  async finish(): Promise<void> {
    while (this.unfinished !== undefined) {
      const state = await this.#feed.state();
      await this.#explained(async () => {
        await this.#erasures.start();
        await this.#erasures.wait();
        await this.#tend(state);
      });
    }
  }

  async readCursor(): Promise<CopyCursor> {
    const state = await this.#feed.state();
    return this.#explained(() => this.#look(state));
  }

  async send(first: Chunk, cursor: CopyCursor): Promise<CopyCursor> {
    const { epoch } = cursor;
    const day = dayOf(first.lines[0]!);
    const chunks = [first];
    while (!chunks.at(-1)!.isLast && chunks.length < CHUNKS_AT_ONCE) {
      const { last: after } = chunks.at(-1)!;
      const piece = await this.#feed.next(after, CHUNK_LIMITS.events);
      const isOther = piece.epoch !== epoch || piece.lines.length === 0 || dayOf(piece.lines[0]!) !== day;
      // Of damage the shipper tells.
      if (isOther || piece.damage !== undefined) break;
      chunks.push({ ...piece, after });
    }
    const members: Buffer[] = [];
    for (const { lines } of chunks) members.push(await packMember(lines.join('')));
    const data = Buffer.concat(members);
    const end = cursor.place as CopyEnd | undefined;
    const hasRoom = end !== undefined && end.day === day && end.bytes + data.length <= FILE_BYTES;
    const goesOn = hasRoom && !this.#erasures.isFrozen(end.file);
    const file = goesOn ? end : path.join(this.#folder, epoch, fileNameOf(cursor.seq));
    const chunk = chunks.at(-1)!;
    const place = await this.#explained(async () => ({ ...(await append(file, data)), day, chunk }));
    this.#ends.set(epoch, place);
    if (!this.isOpen()) {
      const log = await this.#feed.state();
      await this.#explained(async () => {
        await this.#tend(log);
        await this.#erasures.start();
      });
    }
    return { epoch, seq: chunk.last, place };
  }

  /** Nobody is there. */
  isOpen(): boolean {
    return performance.now() - this.#lookedAt < LOOK_MS;
  }

  close(): Promise<void> {
    return this.#erasures.close();
  }

  async #look(state: LogState): Promise<CopyCursor> {
    const { epochs, report } = state;
    const { box, url } = this.#target;
    const epoch = epochs.at(-1)!.name;
    const isOwn = report?.url === url && report.box === box;
    const known = isOwn ? (knownShipped(report, epochs) ?? 0) : 0;
    await this.#enter(known);
    await this.#checkOwner(epochs.map(({ name }) => name));
    const folderOf = (name: string) => path.join(this.#folder, name);
    const isOurs = (chunk: CopyEnd['chunk']) => hasChunk(this.#feed, chunk);
    const found = new Map<string, CopyEnd | undefined>();
    const lastOf = async (name: string) => {
      const end = await findEnd(folderOf(name), this.#ends.get(name)).catch(unlessMissing);
      found.set(name, end);
      return end && { place: end, chunk: end.chunk, ownUpTo: () => ownUpTo(folderOf(name), isOurs) };
    };
    const cursor = await startCursor(epochs, lastOf, isOurs);
    const isNew = (name: string) => found.get(name) === undefined || found.get(name) !== this.#ends.get(name);
    if (isNew(epoch)) this.#removedBelow = 0;
    await this.#tend(state);
    await makeFolder(folderOf(epoch));
    for (const name of new Set([...found.keys(), epoch]))
      if (isNew(name)) await settle(folderOf(name), found.get(name)).catch(unlessMissing);
    this.#ends = found;
    this.#erasures.thaw();
    await this.#erasures.start();
    if (cursor.seq >= known) return cursor;
    const note = `The copy in ${this.#folder} reaches seq ${cursor.seq}, and seq ${known} had been copied: it is another one than before, or an older one. It is brought up to date.`;
    return { ...cursor, note };
  }

  /** @param known up to which seq there was a copy here. */
  async #enter(known: number): Promise<void> {
    const { root } = this.#target;
    const { dev } = await fs.stat(root);
    const isThere = (await fs.stat(this.#folder).catch(unlessMissing)) !== undefined;
    if (isThere) return;
    const isMount = (await fs.stat(path.join(root, '..'))).dev !== dev;
    const away = new SinkError(
      'connecting',
      `There is no copy in ${root}, and nothing is mounted there: plug its stick in, or mount it. For a new copy in this very directory, make its folder: "sudo install -d -m 0700 -o courtd-ship ${this.#folder}".`,
    );
    // What is there is the directory that the stick is to be mounted on, on the disk of the box: that is not filled.
    if (known > 0 && !isMount) throw away;
    await makeFolder(this.#folder).catch((error) => {
      throw isMount || KINDS[error.code] !== 'refused' ? error : away;
    });
  }

  /** Nothing is changed where another box has written, or a clone of this one. */
  async #checkOwner(own: readonly string[]): Promise<void> {
    const file = await boxFileIn(this.#folder);
    const there = [...(file?.epochs ?? []).map(({ name }) => name), ...(await epochsIn(this.#folder))];
    const foreign = there.filter((name) => !own.includes(name));
    // Where a backup was restored twice, the second knows nothing of the epoch between; but its own is not there yet.
    const isShared = there.some((name) => own.includes(name));
    const isBranch = isShared && !there.includes(own.at(-1)!);
    const isOurs = foreign.length === 0 || file?.epoch === own.at(-1) || isBranch;
    if (isOurs && (file?.box ?? this.#target.box) === this.#target.box) return;
    throw new SinkError(
      'fenced',
      `${this.#folder} is the copy of another box (${foreign.length > 0 ? `epoch ${foreign[0]}` : file!.box}), or of a clone of this one: nothing in it is changed. Plug this box's own stick in, and it goes on; or give this box another name (COURTD_SHIP_BOX).${isShared ? PUT_BACK : ''}`,
    );
  }

  /** What is beside the log. */
  async #tend({ epochs, prunedSeq }: LogState): Promise<void> {
    const { venue, oldestSeq, tokens, erasures: own } = await this.#feed.identity();
    const epoch = epochs.at(-1)!.name;
    const { box } = this.#target;
    const there = await boxFileIn(this.#folder);
    const erasures = await this.#erasures.applied(own, there?.erasures ?? []);
    const file: BoxFile = { box, venue, epoch, epochs, version: courtdVersion(), tokens, erasures };
    await writeBoxFile(this.#folder, file);
    // Not what the box has lost in another way: then the copy is the only one.
    const below = Math.min(oldestSeq, prunedSeq + 1);
    // A file that is being written anew would come back.
    if (!this.#erasures.isRunning) {
      if (below > this.#removedBelow) await removeOld(this.#folder, epoch, below);
      this.#removedBelow = below;
    }
    this.#lookedAt = performance.now();
  }

  async #explained<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      // What comes back may be another stick, that has more than the box has.
      this.#removedBelow = 0;
      if (error instanceof Fenced) throw this.#fenced();
      if (error instanceof FileMoved)
        throw new SinkError('moved', `Somebody else writes to ${this.#folder} as well.`);
      const { syscall, code = '' } = error as NodeJS.ErrnoException;
      throw syscall === undefined
        ? error
        : this.#failed(error as NodeJS.ErrnoException, KINDS[code] ?? 'connecting');
    }
  }

  #fenced(): SinkError {
    return new SinkError(
      'fenced',
      `${this.#folder} has events that this box does not have: it is the copy of a clone of this box, or the database was put back without "courtd restore". Nothing in it is changed. Plug this box's own stick in, and it goes on; or, where this is its own, "sudo courtd ship --new-epoch" goes on behind what both have.`,
    );
  }

  #failed(error: NodeJS.ErrnoException, kind: SinkErrorKind): SinkError {
    const { root } = this.#target;
    const advice = {
      refused: `The user of the shipper must be able to write there, and so must its unit ("ReadWritePaths=${root}" in "systemctl edit courtd-ship"); a stick that is read-only may be broken.`,
      waiting: 'Make room there, or plug a larger one in: that gets a full copy.',
      connecting: 'Is the stick plugged in, and mounted? Once it is there, the copy goes on by itself.',
    };
    const what = FOREIGN.has(error.code!)
      ? `There is something in ${this.#folder} that is not courtd's, in the place of a file or folder of the copy: move it away.`
      : advice[kind as keyof typeof advice];
    return new SinkError(kind, `The copy in ${root} cannot be written: ${reasonOf(error)}. ${what}`);
  }
}

const KINDS: Readonly<Record<string, SinkErrorKind>> = {
  EROFS: 'refused',
  EACCES: 'refused',
  EPERM: 'refused',
  ENOSPC: 'waiting',
  EDQUOT: 'waiting',
};

const PUT_BACK =
  ' Where this is its own, and its database was put back, "sudo courtd ship --new-epoch" goes on behind what both have.';

/** What is there is no file, or no folder; a pipe cannot be read from a place in it. */
const FOREIGN = new Set(['EISDIR', 'ENOTDIR', 'ELOOP', 'ESPIPE']);

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
