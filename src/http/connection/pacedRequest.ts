import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Paused connections that are resumed in one turn of the event loop; each then gives one read, 64 KiB at most. */
const READS_PER_TURN = 8;
/** Chunks of one body after which reading it takes a whole turn. */
const CHUNKS_PER_TURN = 1_024;

/** Paused connections, in the order in which they are resumed, each with what resumes it and returns its share of a turn. */
const paused = new Map<Socket, () => number>();

/**
 * Pauses a connection and resumes it in one of the next turns of the event loop. Two hundred large bodies discarded at the same
 * time would fill a turn, and a camera's request needs several turns.
 * @param resume resumes the connection. @returns its share of READS_PER_TURN.
 */
function pauseUntilTurn(socket: Socket, resume: () => number): void {
  socket.pause();
  if (paused.size === 0) setImmediate(runTurn);
  paused.set(socket, resume);
}

function runTurn(): void {
  let left = READS_PER_TURN;
  for (const [socket, resume] of paused) {
    if (left <= 0) break;
    paused.delete(socket);
    left -= resume();
  }
  if (paused.size > 0) setImmediate(runTurn);
}

/** Pauses a connection whose input is discarded, and resumes it when it is its turn. */
export function resumeSoon(socket: Socket): void {
  pauseUntilTurn(socket, () => {
    socket.resume();
    return 1;
  });
}

/** A request that applies backpressure to a client that sends its body in very small chunks. */
export class PacedRequest extends IncomingMessage {
  #chunks = 0;
  #isPaused = false;

  /** Counts a chunk of the body. At one byte each, a single read brings 11,000 chunks, which take 15 ms: a turn of their own. */
  countChunk(): void {
    if (++this.#chunks % CHUNKS_PER_TURN !== 0) return;
    this.#isPaused = true;
    pauseUntilTurn(this.socket, () => {
      this.#isPaused = false;
      this.socket.resume();
      return READS_PER_TURN;
    });
  }

  /** Node calls this on every tick, and would resume the connection. */
  override _read(size: number): void {
    if (!this.#isPaused) super._read(size);
  }
}
