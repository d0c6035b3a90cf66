/** Counts numbers in bins of one width: quantiles of a million numbers, in no more memory than the bins take. */
export class Bins {
  /** A value that is a multiple of the step is kept exactly. */
  readonly #width: number;
  readonly #counts = new Map<number, number>();
  /** How many numbers there are. */
  total = 0;

  constructor(width: number) {
    this.#width = width;
  }

  add(value: number): void {
    const bin = Math.round(value / this.#width);
    this.#counts.set(bin, (this.#counts.get(bin) ?? 0) + 1);
    this.total++;
  }

  /** Adds what the other has, which has the same width. */
  addAll(other: Bins): this {
    for (const [bin, count] of other.#counts) this.#counts.set(bin, (this.#counts.get(bin) ?? 0) + count);
    this.total += other.total;
    return this;
  }

  /** @returns value and count of each bin that is not empty, from the smallest value on. */
  entries(): [value: number, count: number][] {
    return [...this.#counts].sort(([a], [b]) => a - b).map(([bin, count]) => [bin * this.#width, count]);
  }

  /**
   * @param part from 0 to 1; 0.5 is the median.
   * @returns the quantile, interpolated as PERCENTILE of a spreadsheet does; undefined without numbers.
   */
  quantile(part: number): number | undefined {
    const rank = (this.total - 1) * part;
    let [seen, below] = [0, undefined as number | undefined];
    for (const [value, count] of this.entries()) {
      seen += count;
      if (seen > rank) below ??= value;
      if (seen > Math.ceil(rank)) return below! + (value - below!) * (rank % 1);
    }
    return undefined;
  }
}
