/** Fault injection: which request gets which fault. Pure: the same requests get the same faults. */

/** How often each rejects the same events, in the order of the first round: what rejects an event for good comes last. */
const TIMES = {
  /** 503 without Retry-After: a camera has to back off by itself. */
  busy: 3,
  /** Stored, and then the connection ends without an answer. */
  dropped: 1,
  /** 401 with Retry-After: the camera gets the new token later. */
  unauthorized: 3,
  /** 400 that names no event, if the batch does not get smaller: its parts are accepted. */
  unnamed: 3,
  /** 413, likewise. */
  too_large: 3,
  /** 429 with Retry-After. */
  rate_limited: 1,
  /** 503 with Retry-After. */
  busy_told: 1,
  /** Stored, and answered late. */
  slow: 1,
  /** 400 that names one event. */
  invalid: 1,
};

export type InjectedFault = keyof typeof TIMES;
export const INJECTED_FAULTS = Object.keys(TIMES) as InjectedFault[];

export interface Choice {
  readonly fault: InjectedFault;
  /** For `invalid`: the events that are named. */
  readonly named: readonly string[];
}

/** Requests without a fault between two with one: few at first, so that each kind comes within fifty requests, resends included. */
const QUIET = { atFirst: 2, later: 12 } as const;
/** Only a request of several events can get these, and only one of as many again. */
const OF_BATCHES: readonly InjectedFault[] = ['unnamed', 'too_large'];

/** What happens to events that have got a fault, until they are stored. */
interface Repeat {
  readonly fault: InjectedFault;
  /** How many more times a request with one of them is rejected, if it has at least so many events. */
  left: number;
  readonly least: number;
}

/** Events are named by the key that they had first. */
export class FaultPlan {
  #deck: InjectedFault[] = [...INJECTED_FAULTS];
  #quietFor: number = QUIET.atFirst;
  #quiet = 0;
  /** By event: what was rejected or got no answer. Until it is stored it has no other fault. */
  readonly #repeats = new Map<string, Repeat>();

  /** @param events of a valid request. @returns undefined if it is served as usual. */
  next(events: readonly string[]): Choice | undefined {
    const repeats = events.flatMap((event) => this.#repeats.get(event) ?? []);
    const isAgain = ({ left, least }: Repeat) => left > 0 && events.length >= least;
    const repeat = repeats.length > 0 ? repeats.find(isAgain) : this.#begin(events);
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
    if (events.length === 0 || ++this.#quiet <= this.#quietFor) return undefined;
    const at = this.#deck.findIndex((fault) => events.length > 1 || !OF_BATCHES.includes(fault));
    if (at < 0) return undefined;
    const fault = this.#deck.splice(at, 1)[0]!;
    this.#quiet = 0;
    if (this.#deck.length === 0) {
      this.#deck = [...INJECTED_FAULTS];
      this.#quietFor = QUIET.later;
    }
    const least = OF_BATCHES.includes(fault) ? events.length : 1;
    const repeat = { fault, least, left: TIMES[fault] };
    for (const event of events) this.#repeats.set(event, repeat);
    // This one is rejected whenever it comes.
    if (fault === 'invalid') this.#repeats.set(events[events.length >> 1]!, { fault, least, left: Infinity });
    return repeat;
  }
}
