import { DAY_MS } from '../base/units.ts';

/** A pause is usual if one as long was made this often in a day: once or twice may have been a cable, or a restart. */
const USUAL_TIMES = 3;

/** A pause that ended, and how many as long have ended since. */
interface Pause {
  readonly endedAt: number;
  readonly ms: number;
  longerSince: number;
}

/** Learns how long a source usually pauses, from pauses after which it sent again. All times are of the monotonic clock. */
export class Pauses {
  /** In the order in which they ended, without those that can no longer become the third longest. */
  #ended: Pause[] = [];
  /** The third longest pause of the 24 hours before the last pause ended, in milliseconds; 0 if there is none. */
  usualMs = 0;

  /** Call it when a pause of `ms` milliseconds ends. */
  add(ms: number, now: number): void {
    this.#ended = this.#ended.filter(
      (pause) => now - pause.endedAt <= DAY_MS && (pause.ms > ms || ++pause.longerSince < USUAL_TIMES),
    );
    this.#ended.push({ endedAt: now, ms, longerSince: 0 });
    const longest = this.#ended.map((pause) => pause.ms).sort((a, b) => b - a);
    this.usualMs = longest[USUAL_TIMES - 1] ?? 0;
  }
}
