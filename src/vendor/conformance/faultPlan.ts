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
  /** For `invalid`: the keys of the events that are named. */
  readonly named: readonly string[];
}

/** What identifies an event: its key, or its core if a camera gives it another event_id each time. */
interface PlannedEvent {
  readonly key: string;
  readonly core: string;
}

/** Requests without a fault between two with one: few at first, so that each kind comes within fifty requests, resends included. */
const QUIET_AT_FIRST = 2;
const QUIET_LATER = 12;
/** How often the same events are rejected for the same reason before they are let through. */
const TIMES: Partial<Record<InjectedFault, number>> = { busy: 3, unauthorized: 3, unnamed: 3, too_large: 3 };
/** Only a request of several events can get these, and only one of as many again. */
const OF_BATCHES: readonly InjectedFault[] = ['unnamed', 'too_large'];

export class FaultPlan {
  #deck: InjectedFault[] = [...INJECTED_FAULTS];
  #quietFor = QUIET_AT_FIRST;
  #quiet = 0;
  /**
   * Events that were rejected or got no answer, and have not been stored since: their next request has no new fault. Each by its
   * key and by its core, with the key that it had first.
   */
  readonly #retrying = new Map<string, string>();
  /** By the first event of a request: how many more times it is rejected, if it has at least so many events. */
  readonly #repeats = new Map<
    string,
    { readonly fault: InjectedFault; readonly least: number; left: number }
  >();
  /** Events that are rejected for good, whenever they come. */
  readonly #condemned = new Set<string>();

  /** @param events of a valid request. @returns undefined if it is served as usual. */
  next(events: readonly PlannedEvent[]): Choice | undefined {
    const keys = events.map((event) => this.#firstKeyOf(event));
    const fault = this.#continued(keys) ?? this.#begun(keys);
    if (fault === undefined) return undefined;
    const named = events.filter(({ key }) => fault === 'invalid' && this.#condemned.has(key));
    for (const [i, event] of events.entries()) {
      if (named.includes(event)) continue;
      for (const name of [event.key, event.core]) this.#retrying.set(name, keys[i]!);
    }
    return { fault, named: named.map(({ key }) => key) };
  }

  /** The camera got a 202 for them. */
  stored(events: readonly PlannedEvent[]): void {
    for (const event of events)
      for (const name of [this.#firstKeyOf(event), event.key, event.core]) this.#retrying.delete(name);
  }

  #firstKeyOf({ key, core }: PlannedEvent): string {
    return this.#retrying.get(key) ?? this.#retrying.get(core) ?? key;
  }

  /** Continues a fault that began with an earlier request of these events. */
  #continued(keys: readonly string[]): InjectedFault | undefined {
    if (keys.some((key) => this.#condemned.has(key))) return 'invalid';
    const repeats = keys.flatMap((key) => this.#repeats.get(key) ?? []);
    const repeat = repeats.find(({ left, least }) => left > 0 && keys.length >= least);
    if (repeat !== undefined) repeat.left--;
    return repeat?.fault;
  }

  #begun(keys: readonly string[]): InjectedFault | undefined {
    const [first] = keys;
    if (first === undefined || keys.some((key) => this.#retrying.has(key))) return undefined;
    if (++this.#quiet <= this.#quietFor) return undefined;
    const at = this.#deck.findIndex((fault) => keys.length > 1 || !OF_BATCHES.includes(fault));
    if (at < 0) return undefined;
    const fault = this.#deck.splice(at, 1)[0]!;
    this.#quiet = 0;
    if (this.#deck.length === 0) {
      this.#deck = [...INJECTED_FAULTS];
      this.#quietFor = QUIET_LATER;
    }
    const least = OF_BATCHES.includes(fault) ? keys.length : 1;
    this.#repeats.set(first, { fault, least, left: (TIMES[fault] ?? 1) - 1 });
    if (fault === 'invalid') this.#condemned.add(keys[keys.length >> 1]!);
    return fault;
  }
}
