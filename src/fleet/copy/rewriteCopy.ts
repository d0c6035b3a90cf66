import fs, { constants } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { arrivalToJson } from '../../protocol/event.ts';
import { renamePlayers } from '../../protocol/playerRedaction.ts';
import { ErasedPlayers, type Erasure } from '../../store/erasure/ledger.ts';
import { Redactor } from '../../store/erasure/redactor.ts';
import { isErased, isSameEvent, type StoredChunk, seqOf, unchangingPart } from '../log/chunk.ts';
import { decodeLines, LineFault } from '../log/logLines.ts';
import { type CopyFile, epochsIn, filesOf } from './copyFiles.ts';
import { PRIVATE, syncFolder } from './copyWriter.ts';
import { packMember, readParts } from './members.ts';

/**
 * Takes players who were erased out of a copy. A file that names one is written anew beside the old one, chunk by chunk with the same
 * seqs, synced, and renamed over it: ended anywhere, each file is the old one or the new one, and it is done again from the first.
 */

/** No reader takes it for a file of the log (copyFiles.ts). */
const PARTIAL = /^\.\d+\.ndjson\.gz\.partial$/;
/** In the place of damaged bytes, which may hold anybody: no whole member either, so the hole is still seen. */
const DAMAGED = Buffer.alloc(16);
const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;

interface RewriteOptions {
  readonly ledger: readonly Erasure[];
  /** The lines that the box has now of the seqs of a chunk, by seq. */
  readonly ownLines: (chunk: StoredChunk) => Promise<ReadonlyMap<number, string>>;
  readonly signal: AbortSignal;
}

/** @param folder ROOT/BOX. @returns the files of all its epochs; what an earlier rewrite has left is removed. @throws Node's error. */
export async function filesToRewrite(folder: string): Promise<CopyFile[]> {
  const all: CopyFile[] = [];
  for (const name of await epochsIn(folder)) {
    const epoch = path.join(folder, name);
    for (const entry of await fs.readdir(epoch))
      if (PARTIAL.test(entry)) await fs.rm(path.join(epoch, entry), { force: true });
    all.push(...(await filesOf(epoch)));
  }
  return all;
}

/** @param files to which nothing is appended meanwhile. @throws Node's error, and what `ownLines` throws. */
export async function rewriteFiles(files: readonly CopyFile[], options: RewriteOptions): Promise<void> {
  const rewriter = new Rewriter(options);
  for (const file of files) await rewriter.rewrite(file);
}

class Rewriter {
  readonly #options: RewriteOptions;
  readonly #players: ErasedPlayers;
  readonly #redactor: Redactor;

  constructor(options: RewriteOptions) {
    this.#options = options;
    this.#players = new ErasedPlayers(options.ledger);
    this.#redactor = new Redactor(options.ledger);
  }

  async rewrite(file: CopyFile): Promise<void> {
    const begin = await this.#firstNaming(file);
    if (begin === undefined) return;
    const folder = path.dirname(file.path);
    const partial = path.join(folder, `.${path.basename(file.path)}.partial`);
    const handle = await fs.open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, PRIVATE);
    try {
      let isDamaged = false;
      for await (const { from, chunk, data } of readParts(file)) {
        await this.#pause();
        if (chunk !== undefined) {
          if (isDamaged) await handle.writeFile(DAMAGED);
          const lines = from < begin ? undefined : await this.#redacted(chunk);
          await handle.writeFile(lines === undefined ? data : await packMember(lines.join('')));
        }
        isDamaged = chunk === undefined;
      }
      await handle.sync();
    } catch (error) {
      // It takes room that others need.
      await fs.rm(partial, { force: true }).catch(() => {});
      throw error;
    } finally {
      await handle.close();
    }
    await fs.rename(partial, file.path);
    await syncFolder(folder);
  }

  /** @returns where the first chunk begins that is to be changed; undefined: none is. */
  async #firstNaming(file: CopyFile): Promise<number | undefined> {
    for await (const { from, chunk } of readParts(file)) {
      await this.#pause();
      if (chunk !== undefined && (await this.#redacted(chunk)) !== undefined) return from;
    }
    return undefined;
  }

  /** @returns its lines without the players of the ledger; undefined where it names none. */
  async #redacted(chunk: StoredChunk): Promise<string[] | undefined> {
    const without = chunk.lines.map((line) => this.#withoutThem(line));
    if (without.every((line) => line === undefined)) return undefined;
    const own = await this.#options.ownLines(chunk);
    const lines = chunk.lines.map((line, i) =>
      without[i] === undefined ? line : this.#redactedLine(line, own.get(seqOf(line)), without[i]),
    );
    return lines.every((line, i) => line === chunk.lines[i]) ? undefined : lines;
  }

  /** @returns the line with other strings in their place; undefined where no string in its payload and unknown members is one of them. */
  #withoutThem(line: string): string | undefined {
    const nameOf = (player: string) => this.#players.find(player) && 'erased-00000000';
    const head = unchangingPart(line);
    const rest = renamePlayers({ payload: line.slice(head.length), extra: null }, nameOf)?.payload;
    return rest && head + rest;
  }

  /** What the box says of the event; where it has pruned it, or a restore has taken it back, what the ledger leaves of it. */
  #redactedLine(line: string, own: string | undefined, without: string): string {
    if (own !== undefined && isErased(own) && isSameEvent(own, line)) return own;
    try {
      const { event, seq, receivedMs } = decodeLines([line])[0]!;
      const left = this.#redactor.redact(event);
      return left === event ? line : arrivalToJson({ ...left, seq, receivedMs });
    } catch (error) {
      if (!(error instanceof LineFault)) throw error;
      return without;
    }
  }

  async #pause(): Promise<void> {
    await setImmediate();
    this.#options.signal.throwIfAborted();
  }
}
