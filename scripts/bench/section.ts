import type { Verdict } from './bars.ts';
import type { Ground } from './ground.ts';

/** A part of the bench, which can be run alone. */
export interface Section {
  /** For `--section`. */
  readonly name: string;
  /** @returns where courtd stands beside the bars of this part. */
  run(ground: Ground): Promise<Verdict[]>;
}
