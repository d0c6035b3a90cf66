/** A refused body, as it is to be kept. */
export interface RefusedBody {
  readonly requestId: string;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs: number;
  readonly code: string;
  /** The source of its first invalid event; where that could not be read, the client's address. */
  readonly sender: string;
  /** Decompressed; as it came where that is what was wrong with it. */
  readonly bytes: Buffer;
}

/** A kept body, with the places of the events in it that wait: neither imported nor stored, and not come again since. */
export interface WaitingBody extends RefusedBody {
  readonly id: number;
  readonly indexes: ReadonlySet<number>;
}

/** The events of a sender that wait to be mended. */
export interface WaitingEvents {
  readonly sender: string;
  readonly events: number;
  /** When the first of them was refused: milliseconds since 1970-01-01T00:00:00Z. */
  readonly sinceMs: number;
}
