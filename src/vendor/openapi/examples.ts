import type { WireEvent } from '../../protocol/eventSchema.ts';
import { EVENT_TYPES, type EventType, PAYLOAD, TYPES } from '../../protocol/eventTypes.ts';

/** Example requests of the document. A test sends each to a courtd. */

/** @param number different for each. @returns an event of the type, with the fields that are usual with it. */
function eventOf(type: EventType, number: number): WireEvent {
  return {
    event_id: `0198c5e2-7d1c-7a54-9d54-3b1d0f2a9c${10 + number}`,
    session_id: 'match-17',
    venue_id: 'venue-1',
    court_id: 'court-7',
    eot: `2026-03-14T15:09:${26 + number}.535Z`,
    type,
    confidence: 0.97,
    source: 'court-7-cam-1',
    schema_version: '1.0',
    payload: Object.fromEntries(TYPES[type].fields.map((name) => [name, PAYLOAD[name].example])),
  };
}

const [BOUNCE, ...OTHERS] = EVENT_TYPES.map(eventOf) as [WireEvent, ...WireEvent[]];

export const REQUEST_EXAMPLES: Readonly<
  Record<string, { readonly summary: string; readonly value: WireEvent | readonly WireEvent[] }>
> = {
  event: { summary: 'One event: a ball has bounced', value: BOUNCE },
  batch: { summary: 'One of each of the other types', value: OTHERS },
  correction: {
    summary: 'The ball was out after all: the same event_id, a higher revision',
    value: { ...BOUNCE, revision: 1, payload: { ...BOUNCE.payload, is_in: false } },
  },
  nothing: { summary: 'An empty array: checks the address and the token', value: [] },
};
