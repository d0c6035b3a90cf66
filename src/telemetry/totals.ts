import type { CourtEvent } from '../protocol/event.ts';
import { EVENT_TYPES, type EventType } from '../protocol/eventTypes.ts';
import type { Copies } from '../store/write/appender.ts';

/** The result for an event: stored, stored already, or stored already with different content. Each event counts once. */
export const RESULTS = ['accepted', 'duplicate', 'conflict'] as const;
type Result = (typeof RESULTS)[number];

/** Counters that only grow, as plain numbers: every event is counted here. */
export class Totals {
  /** Requests that were answered 202. */
  requests = 0;
  /** Events of accepted requests, each list in the order of EVENT_TYPES: there are no other types. */
  readonly events: Readonly<Record<Result, Float64Array>> = {
    accepted: new Float64Array(EVENT_TYPES.length),
    duplicate: new Float64Array(EVENT_TYPES.length),
    conflict: new Float64Array(EVENT_TYPES.length),
  };

  /** @param copies the duplicates among the events. */
  accepted(events: readonly CourtEvent[], copies: Copies | undefined): void {
    const { accepted, duplicate, conflict } = this.events;
    this.requests++;
    for (let i = 0; i < events.length; i++) accepted[typeIndex(events[i]!.type)]!++;
    if (copies === undefined) return;
    for (const { type } of copies.all) {
      accepted[typeIndex(type)]!--;
      duplicate[typeIndex(type)]!++;
    }
    for (const { event } of copies.inConflict) {
      const { type } = event;
      duplicate[typeIndex(type)]!--;
      conflict[typeIndex(type)]!++;
    }
  }
}

function typeIndex(type: EventType): number {
  return EVENT_TYPES.indexOf(type);
}
