import { byName } from '../../base/visibleText.ts';

/** A session has a few courts and players; of more names than this only the first are kept, since a camera may send any text. */
const NAMES_KEPT = 16;

/** The first distinct names of a kind in a session, and whether there were more. */
export class FirstNames {
  readonly #names = new Set<string>();
  #hasMore = false;

  add(name: string): void {
    if (this.#names.size < NAMES_KEPT) this.#names.add(name);
    else this.#hasMore ||= !this.#names.has(name);
  }

  /** Whether there were more names than `sorted` has. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** @returns the names that were kept, in alphabetical order. */
  sorted(): string[] {
    return [...this.#names].sort(byName);
  }
}
