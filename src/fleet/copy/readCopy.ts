import { type StoredChunk, seqOf } from '../log/chunk.ts';
import type { CopiedEpoch } from './copyFiles.ts';
import { readParts } from './members.ts';

/** A chunk, and what is around it. */
export interface CopiedChunk extends StoredChunk {
  /** Its lines, gzipped, as it stands in the file. */
  readonly data: Buffer;
  /** What is missing or damaged between `after` and this chunk, in a sentence; undefined: nothing. */
  readonly hole: string | undefined;
}

/**
 * Reads an epoch of a copy, in order, in memory for one chunk or two. Events behind `epoch.upTo` are given as well.
 * @param onTorn gets what is no whole chunk at the end, and is left out, in a sentence: the box had not counted it as copied.
 * @throws Node's error, of a file.
 */
export async function* readEpoch(
  { files }: CopiedEpoch,
  onTorn: (sentence: string) => void,
): AsyncGenerator<CopiedChunk> {
  let last = files[0]?.after ?? 0;
  let hole: string | undefined;
  for (const file of files) {
    const { path, after } = file;
    if (after < last) hole = `${path} begins behind seq ${after}, and the file before it reaches seq ${last}`;
    if (after > last) hole ??= `A file is missing before ${path}`;
    if (after === last) hole = undefined;
    last = after;
    for await (const { from, to, chunk, data } of readParts(file)) {
      if (chunk === undefined) {
        hole = `${path} is damaged from byte ${from} to ${to}`;
        continue;
      }
      if (seqOf(chunk.lines[0]!) <= last) hole ??= `${path} has events twice behind seq ${last}`;
      yield { ...chunk, data, hole };
      [last, hole] = [chunk.last, undefined];
    }
  }
  if (hole !== undefined) onTorn(`${hole}: that is left out.`);
}
