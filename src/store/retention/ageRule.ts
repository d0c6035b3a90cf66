import { EARLIEST_RECEIVED_MS } from '../../base/limits.ts';

/** What counts as old. Milliseconds since 1970-01-01T00:00:00Z. */
export interface Age {
  /** Events received before this are old. */
  readonly beforeMs: number;
  readonly nowMs: number;
}

/** Whether the clock of the box can have been right when it showed this time. */
export function isPlausible(receivedMs: number, { nowMs }: Pick<Age, 'nowMs'>): boolean {
  return receivedMs >= EARLIEST_RECEIVED_MS && receivedMs <= nowMs;
}

/** @returns those that are old, as the rule below has it. @param items in order of arrival. */
export function oldAmong<Item>(items: readonly Item[], msOf: (item: Item) => number, age: Age): Item[] {
  const isOld = expiredAmong(items.map(msOf), undefined, age);
  return items.filter((_, i) => isOld[i]);
}

/**
 * The retention rule in one sentence: an event has the age that the clock of the box gave it on receipt,
 * except that a time before courtd existed counts as the first plausible time after it, and a time in the
 * future as young.
 *
 * - After a winter, or on a new box, the clock may be years behind until somebody sets it. Such events are as
 *   old as the first ones received after that; where there are none, they count as received now.
 * - A time in the future says nothing about its neighbours: a clock that was ahead for a moment does not hold
 *   retention up.
 * - A clock that is ahead now is not noticed here: see clockMark.ts.
 * @param receivedMs of consecutive events, in order of arrival.
 * @param nextMs the first plausible time after them, if there is one.
 * @returns for each of them whether it is old.
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
