import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';

/** What counts as old. Milliseconds since 1970-01-01T00:00:00Z. */
export interface Age {
  /** Received before this. */
  readonly beforeMs: number;
  readonly nowMs: number;
}

/** Whether the clock of the box can have been right when it said this. */
export function isPlausible(receivedMs: number, { nowMs }: Pick<Age, 'nowMs'>): boolean {
  return receivedMs >= EARLIEST_RECEIVED_MS && receivedMs <= nowMs;
}

/**
 * The rule of retention, in one sentence: an event was received when the clock of the box said, but a time before there was a
 * courtd counts as the first plausible time that came after it, and one in the future as young.
 *
 * - After a winter, or on a new box, the clock may be years behind until somebody sets it: such events are as young as what
 *   came next, and where nothing came next, as now.
 * - A time in the future says nothing of the events around it: one clock that was ahead for a moment holds up nothing.
 * - A clock that is ahead now is not seen here: see clockMark.ts.
 * @param receivedMs of some events in the order of arrival, none left out.
 * @param nextMs the first plausible time after them, if there is one.
 * @returns of each whether it is old.
 */
export function expiredAmong(receivedMs: readonly number[], nextMs: number | undefined, age: Age): boolean[] {
  let effectiveMs = nextMs ?? age.nowMs;
  return receivedMs
    .toReversed()
    .map((ms) => {
      if (isPlausible(ms, age)) effectiveMs = ms;
      return ms <= age.nowMs && effectiveMs < age.beforeMs;
    })
    .reverse();
}
