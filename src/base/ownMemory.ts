/** Frees memory at once: the garbage collector sees only a small object, and would run after a hundred MiB. */
export function freeMemory(memory: ArrayBufferLike): void {
  if (memory instanceof ArrayBuffer) memory.transfer(0);
}

/** @returns a copy whose memory is no part of a larger buffer: it keeps nothing else, and can be given to another thread. */
export function ownCopy(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
