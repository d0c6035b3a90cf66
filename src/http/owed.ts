import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** The last answer that each connection still owes, and the one before it. */
interface Owed {
  last: ServerResponse | undefined;
  before: ServerResponse | undefined;
}

const owed = new WeakMap<Duplex, Owed>();

/**
 * An answer that has gone is forgotten, with its request: two of them kept for each connection were most of what the
 * collector of young garbage found alive, and so a seventh of the time at 64 connections.
 */
export function noteOwed(socket: Duplex, res: ServerResponse): void {
  const own = owed.get(socket) ?? { last: undefined, before: undefined };
  owed.set(socket, own);
  own.before = own.last;
  own.last = res;
  res.once('close', () => {
    if (own.before === res) own.before = undefined;
    // While its own body is still coming, that body can break.
    if (own.last === res && res.req.complete) own.last = undefined;
  });
}

/** @returns whether no request has come behind this one on its connection. */
export function isLastOwed(socket: Duplex, res: ServerResponse): boolean {
  return owed.get(socket)?.last === res;
}

/**
 * After the parser gave up on a connection: `answer` is called when it is its turn. Before it come answers to
 * requests that were complete; a request whose own body is broken or too slow will never be one, and this is its
 * answer, unless it has had one.
 */
export function whenItsTurn(socket: Duplex, answer: (hadOne: boolean) => void): void {
  const { last, before } = owed.get(socket) ?? {};
  const isBroken = last !== undefined && !last.req.complete;
  const hadOne = isBroken && last.headersSent;
  const previous = isBroken ? before : last;
  if (previous === undefined || previous.writableFinished) return answer(hadOne);
  previous.once('finish', () => {
    // An answer that ended the connection was the last one on it.
    if (socket.writable) answer(hadOne);
  });
}
