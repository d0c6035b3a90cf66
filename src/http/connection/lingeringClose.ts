import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { LINGER_BYTES, LINGER_MS } from '../../base/limits.ts';
import { freeBuffer } from '../../base/ownMemory.ts';
import type { ReadTurns } from './readTurns.ts';

/** The least that one read counts against LINGER_BYTES: over TLS, a record of one byte takes as long as one of 4 KiB. */
const LINGER_READ_MIN_BYTES = 4 * 1024;

/**
 * Detaches Node's parser from a connection and discards its input, up to LINGER_BYTES. After an error the parser would go on,
 * with a new parser object for each read, and each of those holds 64 KiB.
 */
export function discardInput(socket: Socket, turns: ReadTurns): void {
  let left = LINGER_BYTES;
  stopParser(socket);
  minimizeReadBuffer(socket);
  socket.removeAllListeners('data');
  socket.on('data', (bytes: Buffer) => {
    left -= Math.max(bytes.length, LINGER_READ_MIN_BYTES);
    if (left < 0) socket.destroy();
    // First drain what Node has already read: over TLS that may be thousands of chunks.
    else if (socket.readableLength === 0) turns.pause(socket);
    // Over TLS Node reuses one buffer for all reads.
    if (!(socket instanceof TLSSocket)) freeBuffer(bytes);
  });
}

/**
 * Lingering close (RFC 9112, 9.6): half-closes the connection and waits until the client closes its side, LINGER_MS at most.
 * Closing at once while the client is still sending would reset the connection, and the client could lose the response. The
 * input must be discarded already (`discardInput`).
 */
export function lingeringClose(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  if (socket.readableEnded) socket.destroySoon();
  else socket.once('end', () => socket.destroySoon());
  socket.end();
}

/**
 * Lowers the socket's high-water mark, so that Node stops reading while the connection is paused. It would otherwise read up to
 * 64 KiB, which over TLS can be 65,536 records of one byte, at a hundred bytes of memory each. Private to Node
 * (../admission/DESIGN.md).
 */
function minimizeReadBuffer(socket: Socket): void {
  const { _readableState: state } = socket as { _readableState?: { highWaterMark?: number } };
  if (state?.highWaterMark !== undefined) state.highWaterMark = 1;
}

/**
 * Stops Node's parser at the next request head. It would otherwise emit every request that it has already read (64 KiB hold
 * 3,640 of 18 bytes), and a pause does not stop it. Private to Node (../admission/DESIGN.md).
 */
export function stopParser(socket: Socket): void {
  const { parser } = socket as { parser?: { onIncoming?: (req: { upgrade?: boolean }) => number } | null };
  if (!parser) return;
  parser.onIncoming = (req) => {
    // Node would otherwise treat an Upgrade as accepted, and destroy the connection before the pending response is written.
    req.upgrade = false;
    return -1;
  };
}
