import { timeline } from '../world.ts';

export * from 'node:crypto';

/** In the place of that of node:crypto. */
export function randomBytes(size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, () => Math.floor(timeline.random() * 256)));
}
