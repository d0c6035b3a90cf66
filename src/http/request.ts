import { IncomingMessage } from 'node:http';
import { PARTS_PER_TURN, READ_ON_PER_TURN } from '../protocol/limits.ts';
import { readLater } from './hold.ts';

/** Gets a body as it comes. */
export interface BodyReader {
  /** @returns whether more may be read of the connection, else `readOn` it (hold.ts). What has been read already still comes. */
  part(bytes: Buffer): boolean;
  end(): void;
}

/**
 * A request that hands its body straight to a reader. Paused as a stream it would keep what comes until there are 64 KiB:
 * in chunks of one byte, as many objects, 15 MiB for each connection.
 */
export class CourtRequest extends IncomingMessage {
  #reader: BodyReader | undefined;
  #parts = 0;

  /** Without one, its body is dropped. */
  readBy(reader: BodyReader | undefined): void {
    this.#reader = reader;
  }

  /** By Node's parser; where it returns false, Node pauses the connection. */
  override push(bytes: Buffer | null): boolean {
    if (bytes !== null) {
      const more = this.#reader?.part(bytes) ?? true;
      if (more && ++this.#parts % PARTS_PER_TURN === 0) readLater(this.socket, READ_ON_PER_TURN);
      return more;
    }
    const more = super.push(null);
    this.#reader?.end();
    return more;
  }
}
