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
const resting = new Set<Socket>();

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
  // Before that, Node itself reads on.
  res.once('finish', () => {
    if (resting.has(socket)) return;
    setResting(socket, true);
    const timer = setTimeout(() => setResting(socket, false), seconds * 1000);
    socket.once('close', () => {
      clearTimeout(timer);
      resting.delete(socket);
    });
  });
}

/** While shutting down all are heard: what they have sent is answered. */
export function wakeAll(): void {
  for (const socket of resting) setResting(socket, false);
}

function setResting(socket: Socket, isResting: boolean): void {
  if (isResting) resting.add(socket);
  else resting.delete(socket);
  change(socket, (hold) => {
    hold.isResting = isResting;
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
