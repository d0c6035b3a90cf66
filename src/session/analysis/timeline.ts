import type { EventType } from '../../protocol/eventTypes.ts';

const MINUTE_MS = 60_000;
/** At most this many steps with an event are kept; with more, the length of a step is doubled. */
const STEPS_MAX = 720;
/**
 * How many pauses are listed, and how long a pause has to be: longer than any between rallies and games, for which the rules of
 * these sports give two minutes at most.
 */
const PAUSES_LISTED = 10;
export const PAUSE_LEAST_MS = 180_000;

interface Step {
  /** Steps since the first event's. */
  at: number;
  readonly counts: Map<EventType, number>;
}

/** Events by type in steps of a minute, or longer ones where a session takes days. */
export class Timeline {
  stepMs = MINUTE_MS;
  /** Those with an event, in order. */
  steps: Step[] = [];
  startMs: number | undefined;

  /** @param eotMs not earlier than that of the event before. */
  add(type: EventType, eotMs: number): void {
    this.startMs ??= Math.floor(eotMs / MINUTE_MS) * MINUTE_MS;
    const at = Math.floor((eotMs - this.startMs) / this.stepMs);
    let last = this.steps.at(-1);
    if (last === undefined || last.at < at) {
      last = { at, counts: new Map() };
      this.steps.push(last);
    }
    last.counts.set(type, (last.counts.get(type) ?? 0) + 1);
    while (this.steps.length > STEPS_MAX) this.#double();
  }

  #double(): void {
    const halved: Step[] = [];
    for (const { at, counts } of this.steps) {
      const to = Math.floor(at / 2);
      const last = halved.at(-1);
      if (last?.at !== to) halved.push({ at: to, counts });
      else for (const [type, count] of counts) last.counts.set(type, (last.counts.get(type) ?? 0) + count);
    }
    this.steps = halved;
    this.stepMs *= 2;
  }
}

interface Pause {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The longest times without an event. */
export class SessionPauses {
  readonly #longest: Pause[] = [];
  #lastMs: number | undefined;
  total = 0;

  /** @param eotMs not earlier than that of the event before. */
  add(eotMs: number): void {
    const fromMs = this.#lastMs ?? eotMs;
    this.#lastMs = eotMs;
    if (eotMs - fromMs < PAUSE_LEAST_MS) return;
    this.total++;
    this.#longest.push({ fromMs, toMs: eotMs });
    this.#longest.sort((a, b) => b.toMs - b.fromMs - (a.toMs - a.fromMs));
    if (this.#longest.length > PAUSES_LISTED) this.#longest.pop();
  }

  /** @returns the longest, in order of time. */
  longest(): Pause[] {
    return this.#longest.toSorted((a, b) => a.fromMs - b.fromMs);
  }
}
