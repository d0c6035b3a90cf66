import { byName } from '../../base/visibleText.ts';

/** The names of what has none of its own. */
interface Shared {
  /** Of what came beyond the limit. */
  readonly others: string;
  /** Of what was sent without a name. */
  readonly unnamed?: string;
}

/** A tally for each name that cameras send, which may be any text: up to a limit each has its own, and the others share one. */
export class NamedTallies<Tally> {
  readonly #tallies = new Map<string, Tally>();
  readonly #most: number;
  readonly #others: string;
  readonly #unnamed: string;
  readonly #make: () => Tally;
  /** How many have a name of their own. */
  #named = 0;

  constructor(most: number, { others, unnamed = others }: Shared, make: () => Tally) {
    this.#most = most;
    this.#others = others;
    this.#unnamed = unnamed;
    this.#make = make;
  }

  of(name = this.#unnamed): Tally {
    const own = this.#tallies.get(name);
    if (own !== undefined) return own;
    const hasOwnName = name !== this.#others && name !== this.#unnamed;
    if (hasOwnName && this.#named === this.#most) return this.of(this.#others);
    if (hasOwnName) this.#named++;
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
