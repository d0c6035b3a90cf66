import type { ReadEvent } from '../../src/store/read/sessionReader.ts';

/** @returns a function that makes events as readers of a session get them, without a database. */
export function reader(): (event: Partial<ReadEvent>, payload: object) => ReadEvent {
  let seq = 0;
  return (event, payload) => ({
    seq: ++seq,
    sessionId: 'session-1',
    eventId: `event-${seq}`,
    revision: 0,
    eot: '2026-03-14T15:00:00Z',
    eotMs: Date.UTC(2026, 2, 14, 15),
    origin: 1,
    type: 'BALL_BOUNCE',
    courtId: 'court-1',
    venueId: 'venue-1',
    confidence: 0.9,
    source: 'camera-1',
    schemaVersion: '1.0',
    receivedMs: Date.UTC(2026, 2, 14, 15, 0, 1),
    payload: JSON.stringify(payload),
    extra: null,
    current: true,
    ...event,
  });
}
