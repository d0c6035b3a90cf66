import fs from 'node:fs/promises';
import { reasonOf } from '../../base/operatorError.ts';
import { type CopiedErasure, erasureOf } from './boxFile.ts';
import { ownLines } from './copyCursor.ts';
import type { EventFeed } from './eventFeed.ts';
import { filesToRewrite, rewriteFiles } from './rewriteCopy.ts';

/** Brings a copy to where the box's ledger of erasures is, beside what is appended to it. */
export class CopyErasures {
  readonly #folder: string;
  readonly #feed: EventFeed;
  readonly #ending = new AbortController();
  /** The ledger of the box. */
  #own: readonly CopiedErasure[] = [];
  /** Whether the copy has to follow it. */
  #isBehind = false;
  #running: Promise<void> | undefined;
  #frozen: ReadonlySet<string> = new Set();
  /** The copy that has been written anew, and by which ledger. */
  #done: { readonly place: string; readonly erasures: readonly CopiedErasure[] } | undefined;
  #failure: Error | undefined;
  /** Of a report; undefined until the copy has been looked at. */
  erasedMs: number | null | undefined;

  /** @param folder ROOT/BOX. */
  constructor(folder: string, feed: EventFeed) {
    this.#folder = folder;
    this.#feed = feed;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Why the copy is not what it has to be, in a sentence or two; undefined: it is. */
  get unfinished(): string | undefined {
    if (!this.#isBehind) return undefined;
    const until = 'until then they name who was erased';
    return this.#failure === undefined
      ? `The files of the copy in ${this.#folder} that are from before an erasure are being written anew: ${until}.`
      : `The files of the copy in ${this.#folder} that are from before an erasure cannot be written anew, and ${until}: ${reasonOf(this.#failure)}. Each takes up to 64 MiB of free space for a moment; it is tried again.`;
  }

  /** Whether a file may be replaced at any moment: nothing is appended to it. */
  isFrozen(file: string): boolean {
    return this.#frozen.has(file);
  }

  /** What is appended to has been looked for anew. */
  thaw(): void {
    if (!this.isRunning) this.#frozen = new Set();
  }

  /**
   * @param own the ledger of the box. @param there what `box.json` says.
   * @returns what it may say now: the entries of which the copy has nothing left.
   */
  async applied(
    own: readonly CopiedErasure[],
    there: readonly CopiedErasure[],
  ): Promise<readonly CopiedErasure[]> {
    const isSame = this.#done?.place === (await placeOf(this.#folder));
    const applied = isSame ? merged(there, this.#done!.erasures) : there;
    this.#own = own;
    this.#isBehind = merged(applied, own) !== applied;
    this.erasedMs = this.#isBehind ? null : Math.max(0, ...own.map(({ at_ms }) => at_ms));
    return applied;
  }

  /** Begins where there is something to do. What is appended from now on has been read after those erasures. */
  async start(): Promise<void> {
    if (!this.#isBehind || this.isRunning) return;
    const [erasures, place] = [this.#own, await placeOf(this.#folder)];
    const files = await filesToRewrite(this.#folder);
    this.#frozen = new Set(files.map(({ path }) => path));
    const options = {
      ledger: erasures.map(erasureOf),
      ownLines: (chunk: Parameters<typeof ownLines>[1]) => ownLines(this.#feed, chunk),
      signal: this.#ending.signal,
    };
    const done = () => {
      this.#done = { place, erasures };
      this.#failure = undefined;
    };
    const failed = (error: Error) => {
      this.#failure = error;
    };
    this.#running = rewriteFiles(files, options)
      .then(done, failed)
      .finally(() => {
        this.#running = undefined;
      });
  }

  /** Waits for what has begun. @throws what has made it fail. */
  async wait(): Promise<void> {
    await this.#running;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }
}

/** @returns the entries of both, of a player's two the later one; `one` itself where the other has nothing to add. */
function merged(one: readonly CopiedErasure[], other: readonly CopiedErasure[]): readonly CopiedErasure[] {
  const all = new Map(one.map((entry) => [`${entry.key} ${entry.player}`, entry]));
  let isOther = false;
  for (const entry of other) {
    const name = `${entry.key} ${entry.player}`;
    const known = all.get(name);
    if (known !== undefined && BigInt(known.before_ns) >= BigInt(entry.before_ns)) continue;
    all.set(name, entry);
    isOther = true;
  }
  return isOther ? [...all.values()] : one;
}

/** @returns which directory it is: another stick may be there under the same name. */
async function placeOf(folder: string): Promise<string> {
  const { dev, ino, birthtimeNs } = await fs.stat(folder, { bigint: true });
  return `${dev} ${ino} ${birthtimeNs}`;
}
