import type { Socket } from 'node:net';

/** Paused connections that are resumed in one turn of the event loop; each is then read once, 64 KiB at most. */
export const READS_PER_TURN = 8;

/**
 * The paused connections of a server, which are resumed a few at a time. Two hundred large bodies discarded at the same time would
 * fill a turn of the event loop, and a camera's request needs several turns.
 */
export class ReadTurns {
  /** In the order in which they are resumed, each with its share of READS_PER_TURN. */
  readonly #paused = new Map<Socket, number>();

  /** Pauses a connection, and resumes it in one of the next turns. @param share of READS_PER_TURN. */
  pause(socket: Socket, share = 1): void {
    socket.pause();
    if (this.#paused.size === 0) setImmediate(() => this.#run());
    this.#paused.set(socket, share);
  }

  #run(): void {
    let left = READS_PER_TURN;
    for (const [socket, share] of this.#paused) {
      if (left <= 0) break;
      this.#paused.delete(socket);
      socket.resume();
      left -= share;
    }
    if (this.#paused.size > 0) setImmediate(() => this.#run());
  }
}
