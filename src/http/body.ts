import type { IncomingMessage } from 'node:http';
import { free } from './free.ts';
import { bodyTooLarge } from './gate.ts';
import type { Place, Room } from './room.ts';

/** The sender is gone before its body was complete: there is nobody to answer. */
export class SenderGone extends Error {}

/**
 * Reads a body whole, at most `limitBytes` of it.
 * @throws {Problem} 413, or 503 where there is no room; {SenderGone}.
 */
export function readBody(
  req: IncomingMessage,
  limitBytes: number,
  room: Room,
  place: Place,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    const settle = () => {
      req.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
    };
    const fail = (reason: Error) => {
      settle();
      for (const chunk of chunks) free(chunk);
      reject(reason);
    };
    const onData = (chunk: Buffer) => {
      sizeBytes += chunk.length;
      if (sizeBytes > limitBytes) return fail(bodyTooLarge(limitBytes));
      chunks.push(chunk);
      if (room.grow(place, chunk.length)) return;
      req.pause();
      room.wait(place, () => req.resume(), fail);
    };
    const onEnd = () => {
      settle();
      if (chunks.length === 1) return resolve(chunks[0]!);
      resolve(Buffer.concat(chunks, sizeBytes));
      for (const chunk of chunks) free(chunk);
    };
    const onGone = () => fail(new SenderGone());
    req.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
  });
}
