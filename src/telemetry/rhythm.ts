import { DAY_MS } from '../base/units.ts';

/** A pause that need not be learned: any source may make one. */
const SHORT_PAUSE_MS = 5_000;
/** A pause is usual if one as long was made this often in a day: once or twice may have been a cable, or a restart. */
const USUAL_TIMES = 3;
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

/**
 * When a source sends, and so whether it has fallen silent. A false alarm is worse than none: nobody looks a third time at a screen
 * that was wrong twice. A moment is the arrival of one of its requests. All times are milliseconds of a clock that never jumps.
 */
export class Rhythm {
  /** How many moments there were since the daemon started. */
  moments = 0;
  /** When its last event came, in an earlier process too; minus infinity if none did. */
  lastAt = Number.NEGATIVE_INFINITY;
  #firstAt = 0;
  /** Since when it has been sending without an unusually long pause. */
  #runningSince = 0;
  /** The third longest pause of the 24 hours before its last pause ended, while others of its court sent; 0 if there is none. */
  #usualPauseMs = 0;
  /** In the order in which they ended, with how many as long have ended since; without what can no longer be the third longest. */
  #pauses: { readonly endedAt: number; readonly ms: number; longerSince: number }[] = [];

  /** @param others of the same court. */
  moment(others: readonly Rhythm[], now: number): void {
    if (this.moments === 0) this.#firstAt = this.#runningSince = now;
    else if (now - this.lastAt > SHORT_PAUSE_MS) this.#pauseEnded(others, now);
    this.moments++;
    this.lastAt = now;
  }

  /** A pause of the whole court says nothing about this source; for a source that is alone, its own pauses are all there is to go by. */
  #pauseEnded(others: readonly Rhythm[], now: number): void {
    const pauseMs = now - this.lastAt;
    if (pauseMs > this.#patienceMs) this.#runningSince = now;
    const recent = others.filter(({ moments, lastAt }) => moments > 0 && now - lastAt <= DAY_MS);
    const ownMs = recent.map((other) => this.#playedWithoutMs(other));
    const learnedMs = recent.length === 0 ? pauseMs : Math.max(...ownMs);
    if (learnedMs > SHORT_PAUSE_MS) this.#learn(learnedMs, now);
  }

  #learn(ms: number, now: number): void {
    this.#pauses = this.#pauses.filter(
      (pause) => now - pause.endedAt <= DAY_MS && (pause.ms > ms || ++pause.longerSince < USUAL_TIMES),
    );
    this.#pauses.push({ endedAt: now, ms, longerSince: 0 });
    const longest = this.#pauses.map((pause) => pause.ms).sort((a, b) => b - a);
    this.#usualPauseMs = longest[USUAL_TIMES - 1] ?? 0;
  }

  isSending(now: number): boolean {
    return this.moments > 0 && now - this.lastAt <= this.#patienceMs;
  }

  /** Whether another source of its court has continued without it for longer than it pauses. */
  isMissed(others: readonly Rhythm[], now: number): boolean {
    return (
      this.#isKnown &&
      others.some((other) => {
        // After a pause of the whole court, cameras resume one by one, and one that was rejected meanwhile waits before it retries.
        const patience = this.#patienceMs * (other.#runningSince <= this.lastAt ? 1 : 2);
        return other.isSending(now) && this.#playedWithoutMs(other) > patience;
      })
    );
  }

  /**
   * For how long another source is known to have sent since the last event of this one. Only events count: a source that still counts
   * as sending may have stopped already, as both do after a match.
   */
  #playedWithoutMs(other: Rhythm): number {
    return Math.max(0, other.lastAt - Math.max(this.lastAt, other.#runningSince));
  }

  /** The milliseconds without an event after which it no longer counts as sending. */
  get #patienceMs(): number {
    if (!this.#isKnown) return UNKNOWN_PATIENCE_MS;
    return Math.max(PATIENCE_MS + this.#usualPauseMs, USUAL_FACTOR * this.#usualPauseMs);
  }

  get #isKnown(): boolean {
    return this.moments >= KNOWN.moments && this.lastAt - this.#firstAt >= KNOWN.ms;
  }
}
