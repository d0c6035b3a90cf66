import type { Chunk } from './message.ts';
import type { Cursor } from './startCursor.ts';

export interface ChunkSink {
  /** Whether another place may be there the next time, under the same name: then being fenced is not for good. */
  readonly isSwappable: boolean;
  /**
   * Asks headquarters up to where it has the log; connects first where there is no connection.
   * @throws {SinkError}
   */
  readCursor(): Promise<Cursor>;
  /**
   * Sends a chunk that goes on behind the cursor; a sink may read what follows from the feed, and send it as well.
   * @returns the cursor behind all of it, once it is acknowledged.
   * @throws {SinkError} where it is not: it may have been stored all the same, so ask where to go on.
   */
  send(chunk: Chunk, cursor: Cursor): Promise<Cursor>;
  /** Tells headquarters how the box is, where it wants to know and is connected. Best effort. @param read asks the box: that takes a while. */
  tellStatus(read: () => Promise<object>): Promise<void>;
  /** What it has still to do beside the events, in a sentence or two; undefined or absent: nothing. */
  readonly unfinished?: string | undefined;
  /** `erased_ms` of a report; undefined or absent: what was reported before holds. */
  readonly erasedMs?: number | null | undefined;
  /** Waits for that. @throws {SinkError} */
  finish?(): Promise<void>;
  /** Whether there is a connection, as far as can be told without using it. */
  isOpen(): boolean;
  /** Ends the connection, and whatever waits for an answer. */
  close(): Promise<void>;
}

/**
 * - connecting: headquarters cannot be reached, or does not answer.
 * - refused: it does not let this box in; somebody has to do something.
 * - waiting: it is there, and does not take events now.
 * - moved: it has something else than was thought; ask it.
 * - poison: it will never take this chunk as it is.
 * - fenced: another box ships under the same name.
 */
export type SinkErrorKind = 'connecting' | 'refused' | 'waiting' | 'moved' | 'poison' | 'fenced';

/** Why something was not acknowledged: the message says what happened and what to do. */
export class SinkError extends Error {
  readonly kind: SinkErrorKind;

  constructor(kind: SinkErrorKind, message: string) {
    super(message);
    this.kind = kind;
  }
}
