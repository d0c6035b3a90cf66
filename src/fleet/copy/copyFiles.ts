import fs from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperatorError, reasonOf, UsageError } from '../../base/operatorError.ts';
import { BOX_FILE, type BoxFile, isEpochName, readBoxFile } from './boxFile.ts';

/**
 * Where a copy has what:
 *
 *     ROOT/BOX/EPOCH/AFTER.ndjson.gz   the log of the box; AFTER is the last seq before the file's first event, 0 without one
 *     ROOT/BOX/box.json                BoxFile (boxFile.ts): whose log it is
 *
 * It is a contract, like that of fleet/nats/fleetLog.ts: names and meaning stay.
 */

const FILE = /^(\d{1,15})\.ndjson\.gz$/;

export interface CopyFile {
  readonly path: string;
  readonly after: number;
}

/** What a copy has of an epoch. */
export interface CopiedEpoch {
  readonly name: string;
  /** In their order. */
  readonly files: readonly CopyFile[];
  /** Where a later epoch begins: what this one has behind is not in the log any more. Infinite where there is no later one. */
  readonly upTo: number;
}

export interface Copy {
  /** In their order; none without a file. */
  readonly epochs: readonly CopiedEpoch[];
  readonly box: BoxFile | undefined;
}

/** A copy of which it is known whose it is. */
export type OwnedCopy = Copy & { readonly box: BoxFile };

/** @returns the directory that a URL names; undefined where it is another URL. @throws {UsageError} where it is file:, and names none. */
export function directoryOf(url: string): string | undefined {
  if (!/^file:/i.test(url)) return undefined;
  try {
    return path.resolve(fileURLToPath(url));
  } catch {
    throw new UsageError(`"${url}" names no directory of this machine: give it as file:///media/copy.`);
  }
}

export function fileNameOf(after: number): string {
  return `${after}.ndjson.gz`;
}

/**
 * @param places folders of a box (ROOT/BOX) or of an epoch, or files of one.
 * @throws {OperatorError} where one is none of these.
 */
export async function findCopy(places: readonly string[]): Promise<Copy> {
  const files = new Map<string, CopyFile[]>();
  let box: BoxFile | undefined;
  const folders = new Set<string>();
  for (const place of places) {
    const found = await filesIn(path.resolve(place));
    // Of a box that has no events yet.
    if (found.length === 0) folders.add(path.resolve(place));
    for (const { epoch, file, folder } of found) {
      folders.add(folder);
      const known = files.get(epoch) ?? [];
      if (!known.some(({ path }) => path === file.path)) files.set(epoch, [...known, file]);
    }
  }
  if (folders.size > 1)
    throw new OperatorError(`These are copies of different boxes: ${[...folders].join(' and ')}.`);
  for (const folder of folders) {
    box = await readBoxFile(folder).catch((error) => {
      throw error.errno === undefined
        ? error
        : new OperatorError(`Cannot read the ${BOX_FILE} in ${folder}: ${reasonOf(error)}.`);
    });
  }
  if (files.size === 0 && box === undefined)
    throw new OperatorError(
      `${places.join(' and ')} is no copy of a box, and no file of one: give the folder that has a ${BOX_FILE}.`,
    );
  const rankOf = (name: string) => box?.epochs.findIndex((one) => one.name === name) ?? -1;
  const sorted = [...files].map(([name, all]) => ({
    name,
    files: all.toSorted((a, b) => a.after - b.after),
  }));
  sorted.sort((a, b) => rankOf(a.name) - rankOf(b.name) || a.files[0]!.after - b.files[0]!.after);
  const epochs = sorted.map((one, i) => {
    const rank = rankOf(one.name);
    const later = rank < 0 ? [] : box!.epochs.slice(rank + 1).map(({ fromSeq }) => fromSeq);
    const begun = sorted.slice(i + 1).map(({ files }) => files[0]!.after);
    // What box.json does not know was begun by a backup that another one has replaced.
    return { ...one, upTo: box !== undefined && rank < 0 ? 0 : Math.min(...later, ...begun) };
  });
  return { epochs, box };
}

/** @returns the copies of boxes in a directory: itself, or what is in it. @throws {OperatorError} where there is none. */
export async function copiesIn(directory: string): Promise<OwnedCopy[]> {
  const entries = await fs.readdir(directory, { withFileTypes: true }).catch((error) => {
    throw new OperatorError(`Cannot read ${directory}: ${reasonOf(error)}.`);
  });
  const inside = entries.filter((entry) => entry.isDirectory()).map(({ name }) => path.join(directory, name));
  const found: OwnedCopy[] = [];
  for (const folder of [directory, ...inside.sort()]) {
    // What is wrong with one, findCopy says.
    const isNone = await readBoxFile(folder).then(
      (box) => box === undefined,
      () => false,
    );
    if (isNone) continue;
    const { epochs, box } = await findCopy([folder]);
    if (box !== undefined) found.push({ epochs, box });
  }
  if (found.length > 0) return found;
  throw new OperatorError(
    `${directory} has no copy of a box: give the folder of one, which has a box.json, or the folder of all of them.`,
  );
}

/** @param folder ROOT/BOX/EPOCH. @returns in their order. @throws Node's error. */
export async function filesOf(folder: string): Promise<CopyFile[]> {
  const all = (await fs.readdir(folder)).map((name) => ({
    path: path.join(folder, name),
    match: FILE.exec(name),
  }));
  const files = all.filter(({ match }) => match !== null);
  return files
    .map(({ path, match }) => ({ path, after: Number(match![1]) }))
    .sort((a, b) => a.after - b.after);
}

/** @param folder ROOT/BOX. @returns the names of the folders that may be epochs. @throws Node's error. */
export async function epochsIn(folder: string): Promise<string[]> {
  const entries = await fs.readdir(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory() && isEpochName(entry.name)).map(({ name }) => name);
}

/** @returns each file with the name of its epoch, and ROOT/BOX. */
async function filesIn(place: string): Promise<{ epoch: string; file: CopyFile; folder: string }[]> {
  const found = (file: CopyFile) => {
    const epoch = path.dirname(file.path);
    return { epoch: path.basename(epoch), file, folder: path.dirname(epoch) };
  };
  const [, after] = FILE.exec(path.basename(place)) ?? [];
  if (after !== undefined) return [found({ path: place, after: Number(after) })];
  try {
    const folders = [place, ...(await epochsIn(place)).map((name) => path.join(place, name))];
    return (await Promise.all(folders.map(filesOf))).flat().map(found);
  } catch (error) {
    throw new OperatorError(`Cannot read ${place}: ${reasonOf(error as Error)}.`);
  }
}
