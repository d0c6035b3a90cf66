import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** The last answer that each connection still owes, and the one before it. */
interface Owed {
  readonly last: ServerResponse;
  readonly before: ServerResponse | undefined;
}

const owed = new WeakMap<Duplex, Owed>();

export function noteOwed(socket: Duplex, res: ServerResponse): void {
  owed.set(socket, { last: res, before: owed.get(socket)?.last });
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
