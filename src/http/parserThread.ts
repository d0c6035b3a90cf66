import { parentPort, workerData } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';
import { readBatch } from '../protocol/batch.ts';
import { Problem } from '../protocol/problems.ts';
import { bodyTooLarge } from './gate.ts';
import type { ParseResult, ParseTask, ThreadData } from './parser.ts';

/** The other side of parser.ts: one body after the other, so that one decoded body at a time is in memory. */

const { rules, bodyLimitBytes } = workerData as ThreadData;

parentPort?.on('message', (task: ParseTask) => {
  parentPort?.postMessage(run(task));
});

function run({ id, body, encoding }: ParseTask): ParseResult {
  try {
    const sent = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const decoded = encoding === 'gzip' ? gunzip(sent) : sent;
    return { id, events: readBatch(decoded, rules), decodedBytes: decoded.length };
  } catch (error) {
    if (!(error instanceof Problem))
      return { id, fault: error instanceof Error ? error.message : String(error) };
    const { code, message, members } = error;
    return { id, problem: { code, message, members } };
  }
}

/** RFC 1952, bounded: a few KiB can hold gigabytes. */
function gunzip(body: Buffer): Buffer {
  try {
    return gunzipSync(body, { maxOutputLength: bodyLimitBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(bodyLimitBytes);
    throw new Problem('invalid_encoding', 'The body is not valid gzip, though Content-Encoding says so.');
  }
}
