/** Fault injection: which request gets which fault. Pure: the same requests get the same faults. */

/** How often each comes to the same events, in the order of a round: faults that reject an event for good come last. */
const TIMES = {
  /** 503 without Retry-After: a camera has to back off by itself. */
  busy: 3,
  /** Stored, and then the connection ends without an answer. */
  dropped: 1,
  /** 401 with Retry-After: the camera gets the new token later. */
  unauthorized: 3,
  /** 400 that names no event. */
  unnamed: 1,
  too_large: 1,
  /** 429 with Retry-After. */
  rate_limited: 1,
  /** 503 with Retry-After. */
  busy_told: 1,
  /** Stored, and answered late. */
  slow: 1,
  /** 400 that names one event, whenever it comes. */
  invalid: 1,
};

export type InjectedFault = keyof typeof TIMES;
export const INJECTED_FAULTS = Object.keys(TIMES) as InjectedFault[];

export interface Choice {
  readonly fault: InjectedFault;
  /** For `invalid`: the events that are named. */
  readonly named: readonly string[];
}

/** Requests without a fault between two with one: so few that each kind comes within fifty requests, resends included. */
const QUIET = 2;
/** Only a request of several events can get these. */
const OF_BATCHES: readonly InjectedFault[] = ['unnamed', 'too_large'];

/** A fault of events, until they are stored, and how many more times it comes. */
interface Repeat {
  readonly fault: InjectedFault;
  left: number;
}

/** Events are named by their keys. */
export class FaultPlan {
  #round: InjectedFault[] = [];
  #quiet = 0;
  /** By event. Until it is stored it has no other fault. */
  readonly #repeats = new Map<string, Repeat>();

  /** @param events of a valid request. @returns undefined if it is served as usual. */
  next(events: readonly string[]): Choice | undefined {
    const repeats = events.flatMap((event) => this.#repeats.get(event) ?? []);
    const repeat = repeats.length > 0 ? repeats.find(({ left }) => left > 0) : this.#begin(events);
    if (repeat === undefined) return undefined;
    repeat.left--;
    const { fault } = repeat;
    const named = events.filter((event) => this.#repeats.get(event)?.left === Infinity);
    return { fault, named: fault === 'invalid' ? named : [] };
  }

  /** The camera got a 202 for them. */
  stored(events: readonly string[]): void {
    for (const event of events) this.#repeats.delete(event);
  }

  #begin(events: readonly string[]): Repeat | undefined {
    if (events.length === 0 || ++this.#quiet <= QUIET) return undefined;
    if (this.#round.length === 0) this.#round = [...INJECTED_FAULTS];
    const at = this.#round.findIndex((fault) => events.length > 1 || !OF_BATCHES.includes(fault));
    if (at < 0) return undefined;
    const fault = this.#round.splice(at, 1)[0]!;
    this.#quiet = 0;
    const repeat = { fault, left: TIMES[fault] };
    for (const event of events) this.#repeats.set(event, repeat);
    if (fault === 'invalid') this.#repeats.set(events[events.length >> 1]!, { fault, left: Infinity });
    return repeat;
  }
}
