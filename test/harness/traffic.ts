import { BATCH_EVENTS, REVISION_MAX } from '../../src/base/limits.ts';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';
import { EVENT_TYPES } from '../../src/protocol/eventTypes.ts';
import type { Random } from '../../src/vendor/simulate/random.ts';
import { event } from './events.ts';
import { type History, type Sent, type SentEvent, toSent } from './history.ts';

/** Sessions in play; the first ones may have been played before. */
const SESSIONS = 4;
/** Small ones mostly: they make the groups. */
const SIZES = [1, 1, 1, 1, 5, 5, 20, 20, 20, 100, 100, BATCH_EVENTS];
const START_MS = Date.parse('2026-03-14T15:00:00Z');

/** Thinks of what cameras send: batches of 1 to 500, new ones, old ones, half old ones, and the same one twice at once. */
export class Traffic {
  readonly #random: Random;
  readonly #history: History;
  #made = 0;

  constructor(random: Random, history: History) {
    this.#random = random;
    this.#history = history;
  }

  /** @returns a request, and how many times it is sent at the same time. */
  next(): { sent: Sent; copies: number } {
    const random = this.#random;
    const kind = random.next();
    const before = this.#history.requests;
    const waiting = before.slice(-20).filter(({ answeredAt }) => answeredAt === undefined);
    // Of another sender, which has had no answer yet.
    if (kind < 0.1 && waiting.length > 0) return { sent: random.pick(waiting), copies: 1 };
    if (kind < 0.2 && before.length > 0) return { sent: random.pick(before), copies: 1 };
    const events = this.fresh(this.#size());
    if (kind < 0.3 && before.length > 0) events.push(...this.#old(BATCH_EVENTS - events.length));
    if (kind > 0.95 && before.length > 0) events.push(...this.#revised(BATCH_EVENTS - events.length));
    return { sent: this.#history.add(events), copies: kind > 0.3 && kind < 0.4 ? 2 : 1 };
  }

  /** @returns new events of one session. */
  fresh(count: number, session = `session-${this.#random.integer(1, SESSIONS)}`): SentEvent[] {
    return Array.from({ length: count }, () => this.#event(session));
  }

  #size(): number {
    return this.#random.integer(1, this.#random.pick(SIZES));
  }

  #old(room: number): SentEvent[] {
    const { events } = this.#random.pick(this.#history.requests);
    return Array.from({ length: Math.min(room, 10) }, () => this.#random.pick(events));
  }

  #revised(room: number): SentEvent[] {
    const { events } = this.#random.pick(this.#history.requests);
    return events.slice(0, Math.min(room, 10)).map(({ text }) => {
      const event = JSON.parse(text) as WireEvent;
      return toSent({ ...event, revision: this.#revisionAfter(event.revision ?? 0), confidence: 1 });
    });
  }

  /** Of cameras that count, that send the time in milliseconds, and of odd ones: some differ only above 32 bits. */
  #revisionAfter(revision: number): number {
    const n = this.#made++;
    const raised = this.#random.pick([revision + 1 + n, START_MS + n, revision + 2 ** 32, REVISION_MAX]);
    return Math.min(raised, REVISION_MAX);
  }

  #event(session: string): SentEvent {
    const n = this.#made++;
    const camera = this.#random.integer(1, 8);
    const hex = () => Math.floor(this.#random.next() * 2 ** 32).toString(16);
    const sent = event({
      event_id: (hex() + hex() + hex()).padStart(24, '0'),
      session_id: session,
      court_id: `court-${camera}`,
      eot: new Date(START_MS + n * 20 - this.#random.integer(0, 2000)).toISOString(),
      type: this.#random.pick(EVENT_TYPES),
      confidence: this.#random.integer(0, 100) / 100,
      source: `camera-${camera}`,
      revision: n % 10 === 0 ? START_MS + n : undefined,
      payload: { x_ft: this.#random.integer(-400, 400) / 10, is_in: this.#random.chance(0.5), kmh: n },
    });
    return toSent(n % 50 === 0 ? { ...sent, operator: 'Zoë 🎾', note: 'x'.repeat(n % 3000) } : sent);
  }
}
