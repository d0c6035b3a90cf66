import type { Verdict } from './bars.ts';
import type { Ground } from './ground.ts';
import type { Table } from './report.ts';

/** A part of the bench, which can run alone. */
export interface Section {
  /** For `--section`, and its heading in RESULTS.md. */
  readonly name: string;
  /**
   * @param show prints a table and adds it to the results.
   * @returns how courtd compares with the bars of this section.
   */
  run(ground: Ground, show: (table: Table) => void): Promise<Verdict[]>;
}
