/**
 * Whether a camera has fallen silent. A false alarm is worse than none: nobody looks a third time at a screen that was
 * wrong twice. All times are milliseconds of the monotonic clock, so that setting the box's clock changes nothing.
 */

export type SourceState = 'sending' | 'resting' | 'silent' | 'overdue' | 'unknown';

/** The facts about a source besides its rhythm. */
export interface Presence {
  /** Whether neither events nor the signs of life that were expected have come from its client. */
  readonly isMissing: boolean;
  /** Whether its client is alive, with nothing to send. */
  readonly isIdle: boolean;
  /** Whether it has sent nothing for longer than it ever pauses. */
  readonly isOverdue: boolean;
}

/** When a source sends. A moment is the arrival of one of its requests. */
export interface Rhythm {
  /** How many moments there were since the daemon started. */
  readonly moments: number;
  readonly firstAt: number;
  readonly lastAt: number;
  /** Since when it has been sending without an unusually long pause. */
  readonly runningSince: number;
  /** The longest pause that is usual for it while others of its court send; 0 if there is none. */
  readonly usualPauseMs: number;
}

/** From here on the rhythm of a source is known: one may send only at the start of a match. */
const KNOWN = { moments: 10, ms: 15_000 } as const;
/**
 * How long any source may pause. Even if the other source of its court sends only once a minute, it is then called silent within
 * two minutes.
 */
const PATIENCE_MS = 55_000;
/** Times a usual pause: a single event lost on the way is not silence. */
const USUAL_FACTOR = 2.25;
/** The same for a source whose rhythm is not known. */
const UNKNOWN_PATIENCE_MS = 150_000;

/** @returns the milliseconds without an event after which a source no longer counts as sending. */
export function patienceMs(source: Rhythm): number {
  if (!isKnown(source)) return UNKNOWN_PATIENCE_MS;
  return Math.max(PATIENCE_MS + source.usualPauseMs, USUAL_FACTOR * source.usualPauseMs);
}

/**
 * @param others of the same court.
 * @param now milliseconds of the monotonic clock.
 */
export function sourceState(
  source: Rhythm,
  others: Iterable<Rhythm>,
  { isMissing, isIdle, isOverdue }: Presence,
  now: number,
): SourceState {
  if (isMissing) return 'silent';
  if (source.moments > 0 && now - source.lastAt <= patienceMs(source)) return 'sending';
  if (!isIdle && isMissed(source, others, now)) return 'silent';
  if (isOverdue) return 'overdue';
  return source.moments === 0 && !isIdle ? 'unknown' : 'resting';
}

/** Whether another source of its court has continued without it for longer than it pauses. */
function isMissed(source: Rhythm, others: Iterable<Rhythm>, now: number): boolean {
  if (!isKnown(source)) return false;
  const patience = patienceMs(source);
  for (const other of others) {
    if (other.moments === 0 || now - other.lastAt > patienceMs(other)) continue;
    // After a pause of the whole court, cameras resume one by one, and one that was rejected meanwhile waits before it retries.
    const isSamePlay = other.runningSince <= source.lastAt;
    if (playedWithoutMs(source, other) > (isSamePlay ? patience : 2 * patience)) return true;
  }
  return false;
}

/**
 * For how long `other` is known to have sent since the last event of `source`. Only events count: a source that still counts as
 * sending may have stopped already, as both do after a match.
 */
export function playedWithoutMs(source: Rhythm, other: Rhythm): number {
  return Math.max(0, other.lastAt - Math.max(source.lastAt, other.runningSince));
}

function isKnown({ moments, firstAt, lastAt }: Rhythm): boolean {
  return moments >= KNOWN.moments && lastAt - firstAt >= KNOWN.ms;
}
