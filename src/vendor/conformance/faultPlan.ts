/** Fault injection: which request gets which fault. Pure: the same requests get the same faults. */

/** The order of the first round: what rejects an event for good comes last. */
export const INJECTED_FAULTS = [
  /** 503 without Retry-After, three times for the same events: a camera has to back off by itself. */
  'busy',
  /** Stored, and then the connection ends without an answer. */
  'dropped',
  /** 401 with Retry-After, three times for the same events: the camera gets the new token later. */
  'unauthorized',
  /** 400 that names no event, three times if the batch does not get smaller: its parts are accepted. */
  'unnamed',
  /** 413, likewise. */
  'too_large',
  /** 429 with Retry-After. */
  'rate_limited',
  /** 503 with Retry-After. */
  'busy_told',
  /** Stored, and answered late. */
  'slow',
  /** 400 that names one event. */
  'invalid',
] as const;

export type InjectedFault = (typeof INJECTED_FAULTS)[number];

export interface Choice {
  readonly fault: InjectedFault;
  /** For `invalid`: the events that are named. */
  readonly named: readonly string[];
}

/** Requests without a fault between two with one: few at first, so that each kind comes within fifty requests, resends included. */
const QUIET_AT_FIRST = 2;
const QUIET_LATER = 12;
/** How often the same events are rejected for the same reason before they are let through. */
const TIMES: Partial<Record<InjectedFault, number>> = { busy: 3, unauthorized: 3, unnamed: 3, too_large: 3 };
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
  #quietFor = QUIET_AT_FIRST;
  #quiet = 0;
  /** By event: what was rejected or got no answer. Until it is stored it has no other fault. */
  readonly #repeats = new Map<string, Repeat>();

  /** @param events of a valid request. @returns undefined if it is served as usual. */
  next(events: readonly string[]): Choice | undefined {
    const repeats = events.flatMap((event) => this.#repeats.get(event) ?? []);
    if (events.length === 0) return undefined;
    if (repeats.length === 0) return this.#begun(events);
    const repeat = repeats.find(({ left, least }) => left > 0 && events.length >= least);
    if (repeat === undefined) return undefined;
    repeat.left--;
    return this.#choice(repeat.fault, events);
  }

  /** The camera got a 202 for them. */
  stored(events: readonly string[]): void {
    for (const event of events) this.#repeats.delete(event);
  }

  #begun(events: readonly string[]): Choice | undefined {
    if (++this.#quiet <= this.#quietFor) return undefined;
    const at = this.#deck.findIndex((fault) => events.length > 1 || !OF_BATCHES.includes(fault));
    if (at < 0) return undefined;
    const fault = this.#deck.splice(at, 1)[0]!;
    this.#quiet = 0;
    if (this.#deck.length === 0) {
      this.#deck = [...INJECTED_FAULTS];
      this.#quietFor = QUIET_LATER;
    }
    const least = OF_BATCHES.includes(fault) ? events.length : 1;
    const repeat = { fault, least, left: (TIMES[fault] ?? 1) - 1 };
    for (const event of events) this.#repeats.set(event, repeat);
    // This one is rejected whenever it comes.
    if (fault === 'invalid') this.#repeats.set(events[events.length >> 1]!, { fault, least, left: Infinity });
    return this.#choice(fault, events);
  }

  #choice(fault: InjectedFault, events: readonly string[]): Choice {
    const named = events.filter((event) => this.#repeats.get(event)?.left === Infinity);
    return { fault, named: fault === 'invalid' ? named : [] };
  }
}
