import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { PIPELINED_REQUESTS, READ_ON_PER_TURN } from '../protocol/limits.ts';

/** Why a connection is not read for the time being: the kernel then holds its sender back, at no cost. */
interface Hold {
  /** Requests whose bodies have come and whose answers have not gone. */
  owed: number;
  isPaused: boolean;
}

const holds = new WeakMap<Duplex, Hold>();
/** Until their timers wake them. */
const resting = new Map<Socket, NodeJS.Timeout>();
/** They have given enough for this turn of the event loop; and how much of another one they will take. */
const later = new Map<Duplex, number>();

/**
 * Makes each pause hold. One in the same turn as a resume does not: Node acts on the resume after it and reads, takes the
 * connection for paused all the same, and so ignores every later pause.
 */
export function holdPauses(socket: Socket): void {
  socket.on('resume', () => {
    // Node's own listener stops reading.
    if (socket.isPaused()) socket.emit('pause');
  });
}

/** Its body has come: with many of one connection waiting for their answers, nothing more of it is read. */
export function holdBehind(socket: Socket, res: ServerResponse): void {
  const hold = holdOf(socket);
  hold.owed++;
  readOrNot(socket, hold);
  res.once('close', () => {
    hold.owed--;
    readOrNot(socket, hold);
  });
}

/**
 * It was refused for being too much, and told to wait. Whoever asks again at once is not heard for that long: otherwise a
 * busy box would spend its time on refusing.
 */
export function rest(socket: Socket, res: ServerResponse, seconds: number): void {
  // Before that, Node itself reads on.
  res.once('finish', () => {
    if (resting.has(socket)) return;
    resting.set(
      socket,
      setTimeout(() => wake(socket), seconds * 1000),
    );
    readOrNot(socket, holdOf(socket));
  });
}

/**
 * It has given enough for now: it is read on in one of the next turns of the event loop.
 * @param share of READ_ON_PER_TURN that it takes.
 */
export function readLater(socket: Duplex, share: number): void {
  socket.pause();
  if (later.size === 0) setImmediate(turn);
  later.set(socket, Math.max(share, later.get(socket) ?? 0));
}

/** Reads on what was paused because of its body, unless something else holds it. */
export function readOn(socket: Duplex): void {
  if (holds.get(socket)?.isPaused !== true) socket.resume();
}

function turn(): void {
  let left = READ_ON_PER_TURN;
  for (const [socket, share] of later) {
    if (left <= 0) break;
    left -= share;
    later.delete(socket);
    readOn(socket);
  }
  if (later.size > 0) setImmediate(turn);
}

/** While shutting down all are heard: what they have sent is answered. */
export function wakeAll(): void {
  for (const socket of resting.keys()) wake(socket);
}

function wake(socket: Socket): void {
  clearTimeout(resting.get(socket));
  resting.delete(socket);
  readOrNot(socket, holdOf(socket));
}

function holdOf(socket: Socket): Hold {
  const known = holds.get(socket);
  if (known !== undefined) return known;
  const hold: Hold = { owed: 0, isPaused: false };
  holds.set(socket, hold);
  // Once for each connection, however often it rests.
  socket.once('close', () => wake(socket));
  return hold;
}

function readOrNot(socket: Socket, hold: Hold): void {
  if (resting.has(socket) || hold.owed >= PIPELINED_REQUESTS) {
    // Again, even if it is paused already: Node reads on when the next request's body is read.
    socket.pause();
    hold.isPaused = true;
  } else if (hold.isPaused) {
    hold.isPaused = false;
    socket.resume();
  }
}
