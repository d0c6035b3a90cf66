import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Connections that are read on in one turn of the event loop, 64 KiB of each, if they have given enough for the one before. */
const READ_ON_PER_TURN = 8;
/** Chunks of a body after which it counts for a whole turn. */
const PARTS_PER_TURN = 1_024;

/** Connections that have given enough for now, and how much of the next turn of the event loop each of them will take. */
const waiting = new Map<Socket, () => number>();

/**
 * This connection is read on in one of the next turns of the event loop. Two hundred large bodies that are thrown away together
 * would fill a turn, and a camera's request takes several.
 * @param resume reads it on. @returns its share of READ_ON_PER_TURN.
 */
function readOnLater(socket: Socket, resume: () => number): void {
  socket.pause();
  if (waiting.size === 0) setImmediate(turn);
  waiting.set(socket, resume);
}

function turn(): void {
  let left = READ_ON_PER_TURN;
  for (const [socket, resume] of waiting) {
    if (left <= 0) break;
    waiting.delete(socket);
    left -= resume();
  }
  if (waiting.size > 0) setImmediate(turn);
}

/** Enough has been read of a connection whose bytes are thrown away. */
export function readLater(socket: Socket): void {
  readOnLater(socket, () => {
    socket.resume();
    return 1;
  });
}

/** A request whose body is read a little at a time where it comes in very small chunks. */
export class PacedRequest extends IncomingMessage {
  #parts = 0;
  #isHeld = false;

  /** A part of its body has come. Of one byte each, one read brings 11,000 of them, which take 15 ms: they are a turn's work. */
  tookPart(): void {
    if (++this.#parts % PARTS_PER_TURN !== 0) return;
    this.#isHeld = true;
    readOnLater(this.socket, () => {
      this.#isHeld = false;
      this.socket.resume();
      return READ_ON_PER_TURN;
    });
  }

  /** Each tick, Node would read the connection on. */
  override _read(size: number): void {
    if (!this.#isHeld) super._read(size);
  }
}
