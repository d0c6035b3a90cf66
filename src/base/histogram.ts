/** How often a value was of which size, in plain numbers: counting costs next to nothing, and nothing is made of it before somebody asks. */
export class Histogram {
  /** The upper ends of the classes, inclusive, in rising order; above the last one there is one more. */
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
