import type { StoredChunk } from '../log/chunk.ts';
import type { LastChunk } from './cursor.ts';

/** Headquarters has another last message than was expected: ask it. */
export class Moved extends Error {}

/** The place to which a shipper sends the log of its box. */
export interface Headquarters {
  /** Connects, if there is no connection. @throws {NatsFault} */
  connect(): Promise<void>;
  /** @returns the last message of an epoch; undefined if there is none. @throws {NatsFault} */
  last(epoch: string): Promise<LastChunk | undefined>;
  /**
   * Publishes a chunk behind the message that is the last one of its epoch; 0: none is.
   * @returns the number of its message, once it is on disk there.
   * @throws {NatsFault}, {Moved}: it may have been stored all the same, so ask for the last message.
   */
  publish(epoch: string, chunk: StoredChunk, last: number): Promise<number>;
  /** Publishes the status of the box as JSON, if there is a connection. */
  tell(status: string): Promise<void>;
  /** Whether there is a connection, as far as that is known without using it. */
  isOpen(): boolean;
  close(): void;
}
