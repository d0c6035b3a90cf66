import { randomUUID } from 'node:crypto';

export const PROBE_HEADER = 'courtd-probe';

/** A `courtd check` uses its mark at once; those of commands that were ended before make room. */
const OPEN_MAX = 8;

/**
 * The requests by which `courtd check` looks whether the port answers. Each carries a mark that it was given through control.sock,
 * and is answered like any other; but it is no camera that was refused, so it is not counted as one.
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

  /** @param mark as a request shows it. @returns whether it was given out, and not used before. */
  take(mark: unknown): boolean {
    return typeof mark === 'string' && this.#open.delete(mark);
  }
}
