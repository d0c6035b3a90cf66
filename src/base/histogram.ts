/** A histogram in plain numbers: an observation costs next to nothing. */
export class Histogram {
  /** The upper bounds of the classes, inclusive, in rising order; one more class is above the last. */
  readonly bounds: readonly number[];
  /** One for each class, not cumulative. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds } = this;
    let at = 0;
    while (at < bounds.length && value > bounds[at]!) at++;
    this.counts[at]!++;
    this.sum += value;
  }
}
