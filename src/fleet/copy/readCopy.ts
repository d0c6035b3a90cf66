import { seqOf } from '../log/chunk.ts';
import type { CopiedEpoch } from './copyFiles.ts';
import { readParts } from './members.ts';

/** A chunk of a copy, whole: as it was when it was written. */
export interface CopiedChunk {
  /** The last seq before it: of the chunk before, or of the file's name. Seqs between may be missing: pruned, or left out. */
  readonly after: number;
  readonly last: number;
  /** As `tail --json` writes them, with their line ends. */
  readonly lines: readonly string[];
  /** The same, gzipped, as it stands in the file. */
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
  for (const { path, after } of files) {
    if (after < last) hole = `${path} begins behind seq ${after}, and the file before it reaches seq ${last}`;
    if (after > last) hole ??= `A file is missing before ${path}`;
    if (after === last) hole = undefined;
    last = after;
    for await (const { from, to, lines, data } of readParts(path)) {
      if (lines === undefined) {
        hole = `${path} is damaged from byte ${from} to ${to}`;
        continue;
      }
      const chunk = { after: last, last: seqOf(lines.at(-1)!), lines, data };
      if (seqOf(lines[0]!) <= last) hole ??= `${path} has events twice behind seq ${last}`;
      yield { ...chunk, hole };
      [last, hole] = [chunk.last, undefined];
    }
  }
  if (hole !== undefined) onTorn(`${hole}: that is left out.`);
}
