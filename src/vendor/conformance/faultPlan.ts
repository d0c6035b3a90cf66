/** Fault injection: which request gets which fault. Pure: the same requests get the same faults. */

/** The order of the first round: faults that refuse an event for good come last. */
export const INJECTED_FAULTS = [
  /** 503 without Retry-After, three times for the same events: a camera that gets no Retry-After has to back off by itself. */
  'busy',
  /** 503 with Retry-After. */
  'busy_told',
  /** Stored, and then the connection ends without an answer. */
  'dropped',
  /** Not stored; the connection is reset in the middle of the answer's body. */
  'reset',
  /** 429 with Retry-After. */
  'rate_limited',
  /** Stored, and answered late. */
  'slow',
  /** 413 for a batch: half of it would be taken. */
  'too_large',
  /** 400 that names one event. */
  'invalid',
] as const;

export type InjectedFault = (typeof INJECTED_FAULTS)[number];

export interface Choice {
  readonly fault: InjectedFault;
  /** For `invalid`: the keys of the events that are named. */
  readonly named: readonly string[];
}

/** Requests without a fault between two with one: few at first, so that each kind comes within fifty requests, resends included. */
const QUIET_AT_FIRST = 2;
const QUIET_LATER = 12;
/** How often a request is refused for the same reason before it is let through. */
const BUSY_TIMES = 3;
const TOO_LARGE_TIMES = 3;

export class FaultPlan {
  #deck: InjectedFault[] = [...INJECTED_FAULTS];
  #isFirstRound = true;
  #quiet = 0;
  /** Events that were refused or got no answer, and have not been stored since: their next request has no new fault. */
  readonly #retrying = new Set<string>();
  /** By the first event of a request: how many more times it is refused. */
  readonly #busy = new Map<string, number>();
  readonly #tooLarge = new Map<string, { readonly events: number; left: number }>();
  /** Events that are refused for good, whenever they come. */
  readonly #condemned = new Set<string>();

  /** @param keys of a valid request's events. @returns undefined where it is served as usual. */
  next(keys: readonly string[]): Choice | undefined {
    const again = this.#goOn(keys);
    if (again !== undefined) return this.#give(again, keys);
    if (keys.length === 0 || keys.some((key) => this.#retrying.has(key))) return undefined;
    if (++this.#quiet <= (this.#isFirstRound ? QUIET_AT_FIRST : QUIET_LATER)) return undefined;
    const at = this.#deck.findIndex((fault) => fault !== 'too_large' || keys.length > 1);
    const [fault] = this.#deck.splice(at, at < 0 ? 0 : 1);
    if (fault === undefined) return undefined;
    this.#quiet = 0;
    if (this.#deck.length === 0) {
      this.#deck = [...INJECTED_FAULTS];
      this.#isFirstRound = false;
    }
    if (fault === 'busy') this.#busy.set(keys[0]!, BUSY_TIMES - 1);
    if (fault === 'too_large')
      this.#tooLarge.set(keys[0]!, { events: keys.length, left: TOO_LARGE_TIMES - 1 });
    if (fault === 'invalid') this.#condemned.add(keys[keys.length >> 1]!);
    return this.#give(fault, keys);
  }

  /** The camera has been told that they are stored. */
  stored(keys: readonly string[]): void {
    for (const key of keys) this.#retrying.delete(key);
  }

  /** Continues a fault that began with an earlier request of these events. */
  #goOn(keys: readonly string[]): InjectedFault | undefined {
    if (keys.some((key) => this.#condemned.has(key))) return 'invalid';
    for (const key of keys) {
      const busy = this.#busy.get(key) ?? 0;
      if (busy > 0) {
        this.#busy.set(key, busy - 1);
        return 'busy';
      }
      const tooLarge = this.#tooLarge.get(key);
      if (tooLarge !== undefined && tooLarge.left > 0 && keys.length >= tooLarge.events) {
        tooLarge.left--;
        return 'too_large';
      }
    }
    return undefined;
  }

  #give(fault: InjectedFault, keys: readonly string[]): Choice {
    const named = fault === 'invalid' ? keys.filter((key) => this.#condemned.has(key)) : [];
    for (const key of keys) if (!named.includes(key)) this.#retrying.add(key);
    return { fault, named };
  }
}
