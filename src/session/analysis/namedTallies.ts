import { byName } from '../../base/visibleText.ts';

/** A tally for each name that cameras send, which may be any text: up to a limit each has its own, and the others share one. */
export class NamedTallies<Tally> {
  readonly #tallies = new Map<string, Tally>();
  readonly #most: number;
  readonly #make: () => Tally;
  readonly #others: string;
  readonly #unnamed: string;
  /** How many have a name of their own. */
  #named = 0;

  /** @param others the name of those beyond the limit. @param unnamed the name of those without one. */
  constructor(most: number, make: () => Tally, others: string, unnamed = others) {
    this.#most = most;
    this.#make = make;
    this.#others = others;
    this.#unnamed = unnamed;
  }

  of(name = this.#unnamed): Tally {
    const own = this.#tallies.get(name);
    if (own !== undefined) return own;
    const hasOwnName = name !== this.#others && name !== this.#unnamed;
    if (hasOwnName && this.#named++ >= this.#most) return this.of(this.#others);
    const made = this.#make();
    this.#tallies.set(name, made);
    return made;
  }

  /** @returns all, in alphabetical order, so that two reports can be compared side by side; the tally without a name is last. */
  entries(): [name: string, tally: Tally][] {
    const last = [this.#others, this.#unnamed];
    return [...this.#tallies].sort(([a], [b]) => last.indexOf(a) - last.indexOf(b) || byName(a, b));
  }
}
