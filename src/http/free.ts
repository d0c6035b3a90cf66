import { isMarkedAsUntransferable } from 'node:worker_threads';

/**
 * Gives the memory of large bytes back now. The collector does not see how much there is behind a small object, and
 * comes round for it when there are a hundred MiB. Nobody may look at them afterwards.
 * @param bytes never what comes from a socket itself: a TLS socket reads into one memory again and again. Node's parser
 * makes a copy of each part of a body.
 */
export function free(bytes: Uint8Array): void {
  if (ownsMemory(bytes)) freeWhole(bytes);
}

/** The same for bytes that may be a part of a larger piece of memory, where nobody else has the rest. */
export function freeWhole({ buffer }: Uint8Array): void {
  // Empty: that is how those that were given back look. And Node marks its pool, which small ones share.
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength === 0 || isMarkedAsUntransferable(buffer)) return;
  buffer.transfer(0);
}

/** Small buffers share their memory with others. */
export function ownsMemory(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes;
  return buffer instanceof ArrayBuffer && byteOffset === 0 && byteLength === buffer.byteLength;
}
