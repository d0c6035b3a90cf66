import { randomUUID } from 'node:crypto';

export const PROBE_HEADER = 'courtd-probe';

/** Unused marks that are kept. A `courtd check` uses its mark at once; one that was killed before never does. */
const OPEN_MAX = 8;

/**
 * The requests by which `courtd check` tests whether the port answers. Each carries a mark that was issued over control.sock. It is
 * answered like any other, but not counted as refused: no camera sent it.
 */
export class OwnProbes {
  readonly #open = new Set<string>();

  issue(): string {
    const [oldest] = this.#open;
    if (oldest !== undefined && this.#open.size >= OPEN_MAX) this.#open.delete(oldest);
    const mark = randomUUID();
    this.#open.add(mark);
    return mark;
  }

  /** @param mark as a request carries it. @returns whether it was issued, and not used before. */
  take(mark: unknown): boolean {
    return typeof mark === 'string' && this.#open.delete(mark);
  }
}
