import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PIPELINED_REQUESTS } from '../protocol/limits.ts';

/** Why a connection is not read for the time being: the kernel then holds its sender back, at no cost. */
interface Hold {
  /** Requests whose bodies have come and whose answers have not gone. */
  owed: number;
  isResting: boolean;
  isPaused: boolean;
}

const holds = new WeakMap<Socket, Hold>();

/** Its body has come: with many of one connection waiting for their answers, nothing more of it is read. */
export function holdBehind(socket: Socket, res: ServerResponse): void {
  change(socket, (hold) => {
    hold.owed++;
  });
  res.once('close', () =>
    change(socket, (hold) => {
      hold.owed--;
    }),
  );
}

/**
 * It was refused for being too much, and told to wait. Whoever asks again at once is not heard for that long: otherwise a
 * busy box would spend its time on refusing.
 */
export function rest(socket: Socket, res: ServerResponse, seconds: number): void {
  const set = (isResting: boolean) =>
    change(socket, (hold) => {
      hold.isResting = isResting;
    });
  // Before that, Node itself reads on.
  res.once('finish', () => {
    if (holds.get(socket)?.isResting) return;
    set(true);
    setTimeout(set, seconds * 1000, false);
  });
}

function change(socket: Socket, by: (hold: Hold) => void): void {
  const hold = holds.get(socket) ?? { owed: 0, isResting: false, isPaused: false };
  holds.set(socket, hold);
  by(hold);
  if (hold.isResting || hold.owed >= PIPELINED_REQUESTS) {
    // Again, even if it is paused already: Node reads on when the next request's body is read.
    socket.pause();
    hold.isPaused = true;
  } else if (hold.isPaused) {
    hold.isPaused = false;
    socket.resume();
  }
}
