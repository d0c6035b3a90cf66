const MINUTE_MS = 60_000;
/** At most this many steps; with more, the length of a step is doubled. */
const STEPS_MAX = 720;

/** Shots in steps of a minute, or longer ones if a session takes days. */
export class Timeline {
  stepMs = MINUTE_MS;
  /** How many shots, by step since the first one. */
  counts: number[] = [];
  startMs = 0;

  /** @param eotMs not earlier than that of the shot before. */
  add(eotMs: number): void {
    if (this.counts.length === 0) this.startMs = Math.floor(eotMs / MINUTE_MS) * MINUTE_MS;
    while (eotMs - this.startMs >= STEPS_MAX * this.stepMs) this.#double();
    const at = Math.floor((eotMs - this.startMs) / this.stepMs);
    while (this.counts.length <= at) this.counts.push(0);
    this.counts[at]!++;
  }

  #double(): void {
    const half = Math.ceil(this.counts.length / 2);
    this.counts = Array.from({ length: half }, (_, i) => this.counts[2 * i]! + (this.counts[2 * i + 1] ?? 0));
    this.stepMs *= 2;
  }
}
