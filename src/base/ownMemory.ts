/** Bytes below which a buffer is left to the garbage collector: to free it takes about a microsecond. */
const FREED_BYTES = 1024;

/**
 * Frees the memory of a buffer at once. The garbage collector sees only a small object, and does not run until there are a hundred
 * MiB of them (../http/admission/DESIGN.md).
 * @param bytes nobody uses them any more. They are left where they are small, or only a part of a larger buffer.
 */
export function freeBuffer({ buffer, byteLength }: Buffer): void {
  if (byteLength >= FREED_BYTES && byteLength === buffer.byteLength) freeMemory(buffer);
}

/** The same for memory that belongs to one buffer, of which that may be a part. */
export function freeMemory(memory: ArrayBufferLike): void {
  if (memory instanceof ArrayBuffer) memory.transfer(0);
}

/** @returns a copy whose memory is no part of a larger buffer: it keeps nothing else, and can be given to another thread. */
export function ownCopy(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
