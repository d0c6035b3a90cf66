import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { LINGER_BYTES, LINGER_MS } from '../../base/limits.ts';
import { readLater } from './pacedRequest.ts';

/** As how much a smaller piece of it counts: over TLS, one of a byte takes as long as one of 4 KiB. */
const LINGER_PIECE_BYTES = 4 * 1024;

/**
 * Takes a connection from Node's parser, and throws away what comes, up to LINGER_BYTES. The parser would go on after an error,
 * with another one for each read, and each of those holds 64 KiB.
 */
export function discard(socket: Socket): void {
  let left = LINGER_BYTES;
  stopParser(socket);
  keepLittle(socket);
  socket.removeAllListeners('data');
  socket.on('data', (bytes: Buffer) => {
    left -= Math.max(bytes.length, LINGER_PIECE_BYTES);
    if (left < 0) socket.destroy();
    // What Node has read already goes first: over TLS that may be thousands of pieces.
    else if (socket.readableLength === 0) readLater(socket);
    forget(socket, bytes);
  });
}

/**
 * Ends a connection whose client is still sending: half of it is closed, and what comes is thrown away (`discard`) until the
 * client ends the other half or LINGER_MS are over, so that the answer is not lost in a reset.
 */
export function linger(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  if (socket.readableEnded) socket.destroySoon();
  else socket.once('end', () => socket.destroySoon());
  socket.end();
}

/**
 * Gives the memory of what is thrown away back at once. The collector sees a small object, and comes round for it when there are
 * a hundred MiB: beside 200 senders of 8 MiB this is 50 to 80 MiB less. Over TLS Node reads into one memory again and again.
 */
function forget(socket: Socket, { buffer, byteLength }: Buffer): void {
  if (socket instanceof TLSSocket || byteLength !== buffer.byteLength) return;
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/**
 * Makes Node stop reading with what it has while the connection waits. It would go on up to 64 KiB, which over TLS can be 65,536
 * records of one byte, and each of those takes a hundred. Private to Node; where it is gone, this costs memory, and a test says so
 * (tls/lingering.test.ts).
 */
function keepLittle(socket: Socket): void {
  const { _readableState: state } = socket as { _readableState?: { highWaterMark?: number } };
  if (state?.highWaterMark !== undefined) state.highWaterMark = 1;
}

/**
 * Makes Node's parser stop at the next head. It hands out every request of what it has read, 3,640 of 18 bytes in 64 KiB, and no
 * pause stops it. Private to Node; where it is gone, this costs memory, and a test says so (strangers.test.ts).
 */
export function stopParser(socket: Socket): void {
  const { parser } = socket as { parser?: { onIncoming?: (req: { upgrade?: boolean }) => number } | null };
  if (!parser) return;
  parser.onIncoming = (req) => {
    // Else Node would take an offer of an Upgrade for accepted, and destroy the connection with the answer that it is owed.
    req.upgrade = false;
    return -1;
  };
}
