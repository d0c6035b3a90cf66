import { parentPort, workerData } from 'node:worker_threads';
import { readBatch } from '../protocol/batch.ts';
import { Problem } from '../protocol/problems.ts';
import { free, freeWhole } from './free.ts';
import { bodyTooLarge } from './gate.ts';
import { gunzip } from './gunzip.ts';
import type { ParseResult, ParseTask, ThreadData } from './parser.ts';

/** The other side of parser.ts. */

const { rules, bodyLimitBytes } = workerData as ThreadData;

parentPort?.on('message', (task: ParseTask) => {
  parentPort?.postMessage(run(task));
});

function run({ body, encoding }: ParseTask): ParseResult {
  const sent = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  let decoded: Buffer | undefined;
  try {
    decoded = encoding === 'gzip' ? gunzip(sent, bodyLimitBytes) : sent;
    if (decoded === undefined) throw bodyTooLarge(bodyLimitBytes);
    return { events: readBatch(decoded, rules), decodedBytes: decoded.length };
  } catch (error) {
    if (!(error instanceof Problem)) return { fault: error instanceof Error ? error.message : String(error) };
    const { code, message, members } = error;
    return { problem: { code, message, members } };
  } finally {
    free(sent);
    if (decoded !== undefined) freeWhole(decoded);
  }
}
