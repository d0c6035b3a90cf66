import { timeline } from '../world.ts';

export * from 'node:crypto';

/** In the place of that of node:crypto, for what does not wait for it. */
export function randomInt(below: number): number {
  return Math.floor(timeline.random() * below);
}

/** In the place of that of node:crypto. */
export function randomBytes(size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, () => Math.floor(timeline.random() * 256)));
}
