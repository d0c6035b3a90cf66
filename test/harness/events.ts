import { randomBytes } from 'node:crypto';
import type { WireEvent } from '../../src/protocol/eventSchema.ts';

/**
 * A fresh, valid event as a camera sends it; no two have one event_id. The overrides may break it on purpose, and
 * a field that is undefined is left out of its JSON.
 */
export function event(overrides: Record<string, unknown> = {}): WireEvent {
  const valid: WireEvent = {
    event_id: randomBytes(12).toString('hex'),
    session_id: 'session-1',
    venue_id: 'venue-1',
    court_id: 'court-1',
    eot: '2026-03-14T15:09:26.535Z',
    type: 'BALL_BOUNCE',
    confidence: 0.97,
    source: 'camera-1',
    schema_version: '1.0',
    revision: 0,
    payload: { x_ft: 12.5, y_ft: -3.25, is_in: true },
  };
  return { ...valid, ...overrides };
}

/** What an event is known by, as it is on the wire. */
export interface WireKey {
  readonly session_id: string;
  readonly event_id: string;
  readonly revision?: number | null;
}

/** @returns one text for each key (spec 2.3). */
export function keyOf({ session_id, event_id, revision }: WireKey): string {
  return JSON.stringify([session_id, event_id, revision ?? 0]);
}

/** As many fresh, valid events as asked for. */
export function events(count: number, overrides: Record<string, unknown> = {}): WireEvent[] {
  return Array.from({ length: count }, () => event(overrides));
}

/** The JSON text of a fresh, valid event with some fields given as JSON text: it can say what no value can. */
export function eventText(fields: Record<string, string>, overrides: Record<string, unknown> = {}): string {
  const usual = Object.entries(event(overrides)).filter(([name]) => !Object.hasOwn(fields, name));
  const members = [...usual.map(([name, value]) => [name, JSON.stringify(value)]), ...Object.entries(fields)];
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}
