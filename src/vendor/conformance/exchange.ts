import { hash } from 'node:crypto';
import { type CourtEvent, eventToJson } from '../../protocol/courtEvent.ts';
import type { Fault } from '../../protocol/errors.ts';
import type { InjectedFault } from './faultPlan.ts';

/** What a run of `courtd conformance` records, and all that its judge sees. Times are milliseconds of the monotonic clock unless stated otherwise. */

export interface SentEvent {
  /** Session, event_id and revision: what identifies a duplicate. */
  readonly key: string;
  /** Session and event_id. */
  readonly id: string;
  readonly revision: number;
  /** Digest of its JSON value without the event_id: the order of members and the spelling of a number do not count. */
  readonly content: string;
  readonly source: string;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly eotMs: number;
  /** What the odd fields of its payload hold, such as "kmh as string". */
  readonly odd: readonly string[];
}

/** One request with the right token, and its answer; in order of arrival. */
export interface Exchange {
  /** When its head arrived. */
  readonly at: number;
  /** When its body was whole, milliseconds since 1970, and the hash of that; absent if it did not come whole. */
  bodyMs?: number;
  digest?: string;
  /** None if the box really rejects the request, for the faults of its events. */
  events: readonly SentEvent[];
  faults: readonly Fault[];
  fault?: InjectedFault;
  /** The keys of the events that a 400 named on purpose. */
  named: readonly string[];
  /** Of the answer, with the seconds of Retry-After; absent if there was none. */
  status?: number;
  toldS?: number;
  /** When the answer was written, or the connection was cut. */
  answeredAt?: number;
}

export interface Recording {
  readonly exchanges: readonly Exchange[];
  readonly endedAt: number;
}

export function digestOf(data: string | Buffer): string {
  return hash('sha1', data, 'base64url').slice(0, 16);
}

/** @returns an event as it is recorded. */
export function sentEvent(event: CourtEvent): SentEvent {
  const { eventId, sessionId, revision, source, eotNs, odd = [] } = event;
  const id = digestOf(JSON.stringify([sessionId, eventId]));
  const value = JSON.parse(eventToJson({ ...event, eventId: '' }), sorted);
  return {
    ...{ key: `${id} ${revision}`, id, revision, content: digestOf(JSON.stringify(value)), odd },
    // A copy: the strings of an event keep the whole body in memory.
    source: Buffer.from(source).toString(),
    eotMs: Number(eotNs / 1_000_000n),
  };
}

function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
