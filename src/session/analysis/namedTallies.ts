import { byName } from '../../base/visibleText.ts';

/** A tally for each name that cameras send, which may be any text: up to a limit each has its own, and the others share one. */
export class NamedTallies<Tally> {
  readonly #tallies = new Map<string, Tally>();
  readonly #most: number;
  readonly #others: string;
  readonly #make: () => Tally;

  /** @param others the name of what is shared. */
  constructor(most: number, others: string, make: () => Tally) {
    this.#most = most;
    this.#others = others;
    this.#make = make;
  }

  of(name: string): Tally {
    const own = this.#tallies.get(name);
    if (own !== undefined) return own;
    if (this.#tallies.size >= this.#most && name !== this.#others) return this.of(this.#others);
    const made = this.#make();
    this.#tallies.set(name, made);
    return made;
  }

  /** @returns all, in alphabetical order, so that two reports can be compared side by side; those in `last` behind them. */
  entries(last: readonly string[] = []): [name: string, tally: Tally][] {
    return [...this.#tallies].sort(([a], [b]) => last.indexOf(a) - last.indexOf(b) || byName(a, b));
  }
}
