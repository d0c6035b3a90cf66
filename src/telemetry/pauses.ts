import { HOUR_MS } from '../base/units.ts';
import type { EndedPause } from '../store/sources/storedSources.ts';

/** The upper bounds of the classes in which pauses are counted, in milliseconds. Pauses within the first need not be counted. */
const CLASSES_MS = [5, 15, 30, 45, 75, 150, 300, 600, 1_200, 2_400, 4_800, 86_400].map((s) => s * 1_000);
/** A pause is usual if one as long was made this often: once or twice may have been a cable, or a restart of the camera. */
const USUAL_TIMES = 3;
/** How often all counts are halved: what a camera did last month says little. */
const HALVED_MS = 86_400_000;

/** Pauses up to this need not be reported. */
export const SHORT_PAUSE_MS = CLASSES_MS[0]!;

/** How long a source usually pauses, learned from pauses after which it sent again. */
export class Pauses {
  readonly #times = new Uint16Array(CLASSES_MS.length);
  #halvedAt: number;

  constructor(now: number) {
    this.#halvedAt = now;
  }

  /** The longest usual pause, in milliseconds; 0 if there is none. */
  get usualMs(): number {
    const usual = this.#times.findLastIndex((times) => times >= USUAL_TIMES);
    return usual <= 0 ? 0 : CLASSES_MS[usual]!;
  }

  ended(ms: number, now: number): void {
    for (; now - this.#halvedAt >= HALVED_MS; this.#halvedAt += HALVED_MS) {
      this.#times.forEach((times, i) => {
        this.#times[i] = times >> 1;
      });
    }
    const found = CLASSES_MS.findIndex((end) => ms <= end);
    const at = found < 0 ? CLASSES_MS.length - 1 : found;
    this.#times[at] = Math.min(this.#times[at]! + 1, 0xffff);
  }
}

/** How far back long pauses are remembered. */
const REMEMBERED_MS = 14 * 86_400_000;

/**
 * The long pauses of the last two weeks that a source has sent: nights, rest days. The longest stands first, and each other one
 * ended later than those before it, so there are few.
 */
export class LongPauses {
  #ended: EndedPause[];

  /** @param before as `ended` was. */
  constructor(before: readonly EndedPause[] = []) {
    this.#ended = [...before];
  }

  get ended(): readonly EndedPause[] {
    return this.#ended;
  }

  /** In milliseconds; 0 if there is none. */
  get longestMs(): number {
    return this.#ended[0]?.[1] ?? 0;
  }

  add(ms: number, now: number): void {
    if (ms < HOUR_MS) return;
    this.#ended = this.#ended.filter(([at, longer]) => now - at <= REMEMBERED_MS && longer > ms);
    this.#ended.push([now, ms]);
  }
}
