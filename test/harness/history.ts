import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import { keyOf } from './events.ts';

/** An event as it was sent. */
export interface SentEvent {
  readonly id: string;
  /** What it is known by (spec 2.3). */
  readonly key: string;
  /** JSON. */
  readonly text: string;
  readonly type: string;
}

export function toSent(event: WireEvent & Record<string, unknown>): SentEvent {
  return { id: event.event_id, key: keyOf(event), text: JSON.stringify(event), type: event.type };
}

/** A request, sent once or more often. */
export class Sent {
  readonly events: readonly SentEvent[];
  /** Entries of the write log when its first 202 arrived; undefined: it has had none. */
  answeredAt: number | undefined;
  tries = 0;

  constructor(events: readonly SentEvent[]) {
    this.events = events;
  }

  get body(): string {
    return `[${this.events.map(({ text }) => text).join(',')}]`;
  }
}

/** A token, and the entries of the write log when `courtd token rotate` had ended. */
export interface MadeToken {
  readonly token: string;
  readonly madeAt: number;
}

/** A run of `courtd prune`, by the entries of the write log. */
export interface Prune {
  readonly begunAt: number;
  /** Once it has ended. */
  endedAt: number;
  /** How many events it has deleted. */
  events: number;
}

/** The type of the events that are pruned meanwhile. */
export const PRUNED_TYPE = 'PLAYER_POSITION';

/** What was sent, and what of it was acknowledged at which entry of the write log. */
export class History {
  readonly requests: Sent[] = [];
  readonly tokens: MadeToken[] = [];
  /** Moments that are worth a closer look, by entries of the write log. */
  readonly moments: number[] = [];
  /** What went wrong while it was recorded already. */
  readonly faults: string[] = [];
  /** The text of every event that was ever sent. */
  readonly texts = new Map<string, string>();
  /** How often a request was sent again. */
  resends = 0;
  readonly prunes: Prune[] = [];
  /** The keys of all events of PRUNED_TYPE. */
  readonly #prunable = new Set<string>();

  add(events: readonly SentEvent[]): Sent {
    const sent = this.addAside(events);
    this.requests.push(sent);
    return sent;
  }

  /** For a request that only one of the disks gets to see. */
  addAside(events: readonly SentEvent[]): Sent {
    for (const { key, text, type } of events) {
      this.texts.set(key, text);
      if (type === PRUNED_TYPE) this.#prunable.add(key);
    }
    return new Sent(events);
  }

  /**
   * @returns whether an event that was acknowledged at one entry of the write log may be gone at a later one. A prune does
   * not sync what it deletes, so it may be there as well.
   */
  mayBePruned(key: string, answeredAt: number, cut: number): boolean {
    return (
      this.#prunable.has(key) &&
      this.prunes.some(({ begunAt, endedAt }) => begunAt <= cut && endedAt > answeredAt)
    );
  }

  /** @returns the requests that had their 202 when the power went after `cut` entries. */
  answered(cut: number): Sent[] {
    return this.requests.filter(({ answeredAt }) => answeredAt !== undefined && answeredAt <= cut);
  }

  /** @returns the tokens that had been shown by then. */
  shownTokens(cut: number): string[] {
    return this.tokens.filter(({ madeAt }) => madeAt <= cut).map(({ token }) => token);
  }
}
