import { randomBytes } from 'node:crypto';
import zlib from 'node:zlib';
import { freeBuffer, ownCopy } from '../../src/base/ownMemory.ts';
import { gunzip } from '../../src/http/request/gunzip.ts';

/** For gunzip.test.ts, in a process of its own, which a thread that reads what is freed ends: bodies that expand too far, each freed at once. */

const LIMIT_BYTES = 1024 ** 2;
const [SENDERS, ROUNDS] = [8, 40];
// Behind what is too much there is more to read, which takes a thread a while.
const bomb = zlib.gzipSync(Buffer.concat([Buffer.alloc(8 * LIMIT_BYTES), randomBytes(3 * LIMIT_BYTES)]));
const codes = new Set<string>();

async function send(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const body = ownCopy(bomb);
    await gunzip(body, LIMIT_BYTES).catch(({ code }) => codes.add(code));
    freeBuffer(body);
  }
}

await Promise.all(Array.from({ length: SENDERS }, send));
console.log([...codes].join());
