/** What an event is known by, as it is on the wire. */
export interface WireKey {
  readonly session_id: string;
  readonly event_id: string;
  readonly revision?: number;
}

/** @returns one text for each key (spec 2.3). */
export function keyOf({ session_id, event_id, revision = 0 }: WireKey): string {
  return JSON.stringify([session_id, event_id, revision]);
}
