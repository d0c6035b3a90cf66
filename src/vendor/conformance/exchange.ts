import type { Fault } from '../../protocol/errors.ts';
import type { InjectedFault } from './faultPlan.ts';

/** What a run of `courtd conformance` records, and all that its judge sees. Times are milliseconds of the monotonic clock unless stated otherwise. */

export interface SentEvent {
  /** Session, event_id and revision: what identifies a duplicate. */
  readonly key: string;
  /** Session and event_id. */
  readonly id: string;
  /** As it was sent. */
  readonly eventId: string;
  readonly revision: number;
  readonly source: string;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly eotMs: number;
  /** Digests of the event as a JSON value, whole and without its event_id. */
  readonly content: string;
  readonly core: string;
  /** What the odd fields of its payload hold, such as "kmh as text". */
  readonly odd: readonly string[];
}

/** One request, and what became of it. */
export interface Exchange {
  /** From 1, in order of arrival. */
  readonly number: number;
  readonly connection: number;
  /** When its head arrived, and the same by the wall clock. */
  readonly at: number;
  readonly wallMs: number;
  readonly isTokenInUrl: boolean;
  /** It came before the answer to the one in front of it on its connection. */
  readonly isPipelined: boolean;
  /** When the body was whole, by the wall clock. */
  bodyMs?: number;
  /** Of the body; absent where it was not read to its end. */
  digest?: string;
  /** Its events, without those that really are invalid. */
  events: readonly SentEvent[];
  /** Keys of events that a 400 named on purpose. */
  named: readonly string[];
  /** What the box itself found wrong with its events. */
  faults: readonly Fault[];
  /** Why the box itself refused it, in a sentence. */
  refusal?: string | undefined;
  fault?: InjectedFault;
  /** Absent where there was no whole answer. */
  status?: number;
  toldS?: number;
  /** When the answer was made, or the connection was cut. */
  answeredAt?: number;
}

export interface ConnectionRecord {
  readonly number: number;
  requests: number;
  endedBy?: 'camera' | 'box';
}

export interface Recording {
  readonly endedAt: number;
  readonly exchanges: readonly Exchange[];
  readonly connections: readonly ConnectionRecord[];
}
