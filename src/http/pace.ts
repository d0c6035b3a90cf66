import type { Socket } from 'node:net';
import { READ_ON_PER_TURN } from '../protocol/limits.ts';

const waiting = new Set<Socket>();

/**
 * This connection has given enough for now: it is read on in one of the next turns of the event loop. Two hundred large bodies
 * that are thrown away together would fill a turn, and a camera's request takes several.
 */
export function readLater(socket: Socket): void {
  socket.pause();
  if (waiting.size === 0) setImmediate(turn);
  waiting.add(socket);
}

function turn(): void {
  let left = READ_ON_PER_TURN;
  for (const socket of waiting) {
    if (left-- === 0) break;
    waiting.delete(socket);
    socket.resume();
  }
  if (waiting.size > 0) setImmediate(turn);
}
