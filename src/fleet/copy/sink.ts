import type { CopyCursor } from './copyCursor.ts';
import type { Piece } from './eventFeed.ts';

/** What goes to the copy at once, whole or not at all. */
export interface Chunk extends Piece {
  /** The seq of the last event before it that the copy has; 0: none. */
  readonly after: number;
}

export interface ChunkSink {
  /** Whether another place may be there the next time, under the same name: then being fenced is not for good. */
  readonly isSwappable: boolean;
  /**
   * Asks headquarters up to where it has the log; connects first where there is no connection.
   * @throws {SinkError}
   */
  readCursor(): Promise<CopyCursor>;
  /**
   * Sends a chunk that goes on behind the cursor; a sink may read what follows from the feed, and send it as well.
   * @returns the cursor behind all of it, once it is acknowledged.
   * @throws {SinkError} where it is not: it may have been stored all the same, so ask where to go on.
   */
  send(chunk: Chunk, cursor: CopyCursor): Promise<CopyCursor>;
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
