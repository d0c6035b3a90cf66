import fs, { constants } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { StoredChunk } from '../log/chunk.ts';
import { BOX_FILE, type BoxFile, DamagedBoxFile, readBoxFile } from './boxFile.ts';
import { epochsIn, filesOf } from './copyFiles.ts';
import { readParts } from './members.ts';

/** Writes to a copy. Whatever counts has been synced; all errors are Node's. */

/** Of a copy's file, at most: a file that a stick loses, or that is read again, is no more. */
export const FILE_BYTES = 64 * 1024 ** 2;
/** Chunks that are synced together, at most: a stick may take half a second for each sync. */
export const CHUNKS_AT_ONCE = 20;
const PIECE_BYTES = 1024 ** 2;
export const PRIVATE = 0o600;
const PRIVATE_FOLDER = 0o700;
const { O_RDWR, O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

/** Where the log of an epoch ends: its last file with a whole chunk. */
export interface CopyEnd {
  readonly file: string;
  /** Up to which it is whole; what is behind is a torn tail. */
  readonly bytes: number;
  /** From where it may not be on the disk, as it was found and not written. */
  readonly unsyncedFrom?: number;
  /** Which file it is: another one may get its name. */
  readonly dev: number;
  readonly ino: number;
  /** The UTC day on which its first event was received. */
  readonly day: string;
  /** The last chunk. */
  readonly chunk: StoredChunk;
}

/** Somebody else has written to the file meanwhile. */
export class FileMoved extends Error {}

/** @returns the UTC day on which an event was received. */
export function dayOf(line: string): string {
  return /"received_at":"(\d{4}-\d\d-\d\d)/.exec(line)?.[1] ?? '';
}

/**
 * Changes nothing.
 * @param folder of an epoch.
 * @param known what was found or written there last: it is not read again.
 * @returns `known` itself where nothing is to be settled; undefined where it has no whole chunk.
 */
export async function findEnd(folder: string, known: CopyEnd | undefined): Promise<CopyEnd | undefined> {
  const files = (await filesOf(folder)).reverse();
  for (const one of files) {
    const { path: file } = one;
    const { dev, ino, size } = await fs.stat(file);
    const isKnown = known?.file === file && known.dev === dev && known.ino === ino && known.bytes === size;
    if (isKnown) return files[0]!.path === file ? known : { ...known };
    let end: CopyEnd | undefined;
    const begins: number[] = [];
    for await (const { from, to, chunk } of readParts(one)) {
      if (chunk === undefined) continue;
      begins.push(from);
      const unsyncedFrom = begins.at(-CHUNKS_AT_ONCE) ?? begins[0]!;
      end = { file, bytes: to, unsyncedFrom, dev, ino, day: end?.day ?? dayOf(chunk.lines[0]!), chunk };
    }
    if (end !== undefined) return end;
  }
  return undefined;
}

/**
 * @param folder of an epoch.
 * @param isOurs whether a chunk is of the log that is copied. Logs that part stay apart.
 * @returns up to which seq the chunks are of that log; 0 where none is.
 */
export async function ownUpTo(
  folder: string,
  isOurs: (chunk: StoredChunk) => Promise<boolean>,
): Promise<number> {
  for (const file of (await filesOf(folder)).reverse()) {
    let last: number | undefined;
    for await (const { chunk } of readParts(file)) {
      if (chunk === undefined) continue;
      if (!(await isOurs(chunk))) break;
      last = chunk.last;
    }
    if (last !== undefined) return last;
  }
  return 0;
}

/**
 * Makes an end what is on disk for good: cuts torn tails, and writes what a writer that was killed may have left unsynced over itself,
 * and syncs it. After a sync that failed a sync alone writes nothing (../../ARCHITECTURE.md#recovery-barrier).
 * @throws {FileMoved}
 */
export async function settle(folder: string, end: CopyEnd | undefined): Promise<void> {
  for (const { path: file } of (await filesOf(folder)).reverse()) {
    if (file === end?.file) break;
    await fs.unlink(file);
  }
  if (end !== undefined) {
    const handle = await fs.open(end.file, O_RDWR | O_NOFOLLOW);
    try {
      const { dev, ino, size } = await handle.stat();
      if (dev !== end.dev || ino !== end.ino) throw new FileMoved();
      if (size > end.bytes) await handle.truncate(end.bytes);
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      for (let at = end.unsyncedFrom ?? end.bytes; at < end.bytes; ) {
        const { bytesRead } = await handle.read(piece, 0, Math.min(PIECE_BYTES, end.bytes - at), at);
        if (bytesRead === 0) throw new FileMoved();
        at += (await handle.write(piece, 0, bytesRead, at)).bytesWritten;
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
  for (const each of [folder, path.dirname(folder), path.dirname(path.dirname(folder))])
    await syncFolder(each);
}

/**
 * Appends whole members, and syncs them.
 * @param file an end, or the path of a file that is made.
 * @throws {FileMoved}
 */
export async function append(
  file: CopyEnd | string,
  data: Uint8Array,
): Promise<Pick<CopyEnd, 'file' | 'bytes' | 'dev' | 'ino'>> {
  const isNew = typeof file === 'string';
  const name = isNew ? file : file.file;
  const made = isNew ? O_CREAT | O_EXCL : 0;
  const handle = await fs.open(name, O_WRONLY | O_APPEND | O_NOFOLLOW | made, PRIVATE);
  try {
    const { dev, ino, size } = await handle.stat();
    if (!isNew && !(dev === file.dev && ino === file.ino && size === file.bytes)) throw new FileMoved();
    try {
      await handle.writeFile(data);
      await handle.sync();
      if (isNew) await syncFolder(path.dirname(name));
    } catch (error) {
      // So that it need not be read again to be cut; and so that another sync of its name is not one that does nothing.
      await (isNew ? fs.unlink(name) : handle.truncate(size)).catch(() => {});
      throw error;
    }
    return { file: name, bytes: size + data.length, dev, ino };
  } finally {
    await handle.close();
  }
}

/** @param folder ROOT/BOX. @returns undefined where there is none, or a damaged one, which the writer replaces. @throws Node's error. */
export function boxFileIn(folder: string): Promise<BoxFile | undefined> {
  return readBoxFile(folder).catch((error) => {
    if (!(error instanceof DamagedBoxFile)) throw error;
    return undefined;
  });
}

/** Writes `box.json` where it is another one than is there. @param folder ROOT/BOX. */
export async function writeBoxFile(folder: string, box: BoxFile): Promise<void> {
  if (isDeepStrictEqual(await boxFileIn(folder), box)) return;
  const partial = path.join(folder, `.${BOX_FILE}.partial`);
  await fs.rm(partial, { force: true });
  await fs.writeFile(partial, `${JSON.stringify(box, null, 2)}\n`, {
    mode: PRIVATE,
    flag: 'wx',
    flush: true,
  });
  await fs.rename(partial, path.join(folder, BOX_FILE));
  await syncFolder(folder);
}

/** Makes a folder whose parent exists, for its owner alone. */
export async function makeFolder(folder: string): Promise<void> {
  await fs.mkdir(folder, PRIVATE_FOLDER).catch((error) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** Removes the files that have only events with a lower seq than this, but for the last of the current epoch. @param folder ROOT/BOX. */
export async function removeOld(folder: string, current: string, below: number): Promise<void> {
  for (const epoch of await epochsIn(folder)) {
    const files = await filesOf(path.join(folder, epoch));
    for (const [i, { path: file, after }] of files.entries()) {
      const next = files[i + 1]?.after;
      if (after >= below || (next === undefined && epoch === current)) continue;
      if ((next ?? (await findEnd(path.dirname(file), undefined))?.chunk.last ?? 0) < below)
        await fs.unlink(file);
    }
    if (epoch !== current) await fs.rmdir(path.join(folder, epoch)).catch(() => {});
  }
}

/** @throws Node's error. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await fs.open(folder);
  try {
    await handle.sync();
  } catch (error) {
    // Some network file systems have nothing to sync there.
    if (!/^(EINVAL|ENOTSUP)$/.test((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    await handle.close();
  }
}
