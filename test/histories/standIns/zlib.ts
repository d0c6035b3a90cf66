import zlib from 'node:zlib';
import { timeline } from '../world.ts';

export * from 'node:zlib';

/** In the place of that of node:zlib, which works in another thread. */
function gzip(data: string, done: (error: null, packed: Buffer) => void): void {
  timeline.immediate(() => done(null, zlib.gzipSync(data)));
}

export default { ...zlib, gzip };
