import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import { keyOf } from './events.ts';

/** An event as it was sent. */
export interface SentEvent {
  readonly id: string;
  /** What it is known by (spec 2.3). */
  readonly key: string;
  /** JSON. */
  readonly text: string;
}

export function toSent(event: WireEvent & Record<string, unknown>): SentEvent {
  return { id: event.event_id, key: keyOf(event), text: JSON.stringify(event) };
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

  add(events: readonly SentEvent[]): Sent {
    const sent = this.addAside(events);
    this.requests.push(sent);
    return sent;
  }

  /** For a request that only one of the disks gets to see. */
  addAside(events: readonly SentEvent[]): Sent {
    for (const { key, text } of events) this.texts.set(key, text);
    return new Sent(events);
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
