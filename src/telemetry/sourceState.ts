/**
 * Whether a camera has fallen silent. A false alarm is worse than none: nobody looks a third time at a screen that was
 * wrong twice. All times are milliseconds of the monotonic clock, so that setting the box's clock changes nothing.
 */

export type SourceState = 'sending' | 'resting' | 'silent' | 'unknown';

/** When a source sends. A moment is a request of its: the events of one come together. */
export interface Rhythm {
  /** How many moments there were since the daemon started. */
  readonly moments: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** Since when it has sent without a longer pause than it usually makes. */
  readonly runningSince: number;
  /** The longest pause that it usually makes while others of its court send; 0 where it makes none. */
  readonly usualPauseMs: number;
}

/** Less than it takes to be sure says nothing of how a source sends: it may be one that speaks at the start of a match only. */
const KNOWN = { moments: 10, ms: 15_000 } as const;
/**
 * How long every source may pause. With a neighbour that sends once a minute, and must be heard after that, it makes less than the
 * two minutes of the contract.
 */
const PATIENCE_MS = 55_000;
/** Of a pause that is usual: one event that is lost on the way is no silence. */
const USUAL_FACTOR = 2.25;
/** For one of which too little is known. */
const UNKNOWN_PATIENCE_MS = 150_000;

/** @returns after how long without an event a source is no longer sending. */
export function patienceMs(source: Rhythm): number {
  if (!isKnown(source)) return UNKNOWN_PATIENCE_MS;
  return Math.max(PATIENCE_MS + source.usualPauseMs, USUAL_FACTOR * source.usualPauseMs);
}

/**
 * @param others of the same court.
 * @param now milliseconds of the monotonic clock.
 */
export function sourceState(source: Rhythm, others: Iterable<Rhythm>, now: number): SourceState {
  if (source.moments === 0) return 'unknown';
  const patience = patienceMs(source);
  if (now - source.lastAt <= patience) return 'sending';
  if (!isKnown(source)) return 'resting';
  for (const other of others) {
    if (other.moments === 0 || now - other.lastAt > patienceMs(other)) continue;
    // After a pause of the whole court cameras come back one by one, and one that was refused meanwhile waits before it tries again.
    const isSamePlay = other.runningSince <= source.lastAt;
    if (playedWithoutMs(source, other) > (isSamePlay ? patience : 2 * patience)) return 'silent';
  }
  return 'resting';
}

/**
 * For how long one source is known to have sent since the other's last event. Only events count: that another one still counts as
 * sending does not mean that its court plays, since after a match both have stopped.
 */
export function playedWithoutMs(source: Rhythm, other: Rhythm): number {
  return Math.max(0, other.lastAt - Math.max(source.lastAt, other.runningSince));
}

function isKnown({ moments, firstAt, lastAt }: Rhythm): boolean {
  return moments >= KNOWN.moments && lastAt - firstAt >= KNOWN.ms;
}
