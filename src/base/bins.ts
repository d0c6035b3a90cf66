/** How numbers are sorted into bins. */
interface BinScale {
  toBin(value: number): number;
  fromBin(bin: number): number;
}

/** Bins of one width: a value that is a multiple of it is kept exactly. */
export function linear(width: number): BinScale {
  return { toBin: (value) => Math.round(value / width), fromBin: (bin) => bin * width };
}

/** Bins that grow with the value, on both sides of 0: each is 2 % wide, so that a second and ten years take a few hundred. */
export const LOGARITHMIC: BinScale = {
  toBin: (value) => Math.sign(value) * Math.round(50 * Math.log1p(Math.abs(value))),
  fromBin: (bin) => Math.sign(bin) * Math.expm1(Math.abs(bin) / 50),
};

/** Counts numbers in bins: quantiles of a million numbers, with no more memory than the bins take. */
export class Bins {
  readonly #scale: BinScale;
  readonly #counts = new Map<number, number>();
  #total = 0;

  constructor(scale: BinScale) {
    this.#scale = scale;
  }

  get total(): number {
    return this.#total;
  }

  add(value: number): void {
    const bin = this.#scale.toBin(value);
    this.#counts.set(bin, (this.#counts.get(bin) ?? 0) + 1);
    this.#total++;
  }

  /** Adds what the other has, which has the same scale. */
  addAll(other: Bins): this {
    for (const [bin, count] of other.#counts) this.#counts.set(bin, (this.#counts.get(bin) ?? 0) + count);
    this.#total += other.#total;
    return this;
  }

  /** @returns value and count of each bin that is not empty, from the smallest value on. */
  entries(): [value: number, count: number][] {
    return [...this.#counts]
      .sort(([a], [b]) => a - b)
      .map(([bin, count]) => [this.#scale.fromBin(bin), count]);
  }

  /**
   * @param part from 0 to 1; 0.5 is the median.
   * @returns the quantile, interpolated as PERCENTILE of a spreadsheet does; undefined without numbers.
   */
  quantile(part: number): number | undefined {
    if (this.#total === 0) return undefined;
    const rank = (this.#total - 1) * part;
    const [low, high] = [Math.floor(rank), Math.ceil(rank)];
    let [seen, below] = [0, undefined as number | undefined];
    for (const [value, count] of this.entries()) {
      seen += count;
      if (below === undefined && seen > low) below = value;
      if (seen > high) return below! + (value - below!) * (rank - low);
    }
    return below;
  }
}
