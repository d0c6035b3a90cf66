import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { type Contender, stopRunning } from '../contender.ts';
import type { Ground } from '../ground.ts';
import { ALONE } from '../load.ts';

const CALLS = 'trace=fsync,fdatasync,sync_file_range,msync';

export function hasStrace(): boolean {
  return spawnSync('strace', ['-V']).error === undefined;
}

/**
 * How often a contender syncs for each answer, with one connection that sends an event at a time: less than once means that it
 * answers before the event is on disk. Counted by strace in all its processes.
 */
export async function syncsPerAnswer(contender: Contender, ground: Ground): Promise<number> {
  const trace = path.join(ground.directory, `${contender.name}.strace`);
  const directory = ground.empty(`${contender.name}-syncs`);
  const running = await contender.start(directory, ['strace', '-D', '-f', '-qq', '-e', CALLS, '-o', trace]);
  const { target } = running;
  const order = { target, ...ALONE, seconds: 2, run: 'syncs' };
  const warmUp = await ground.send({ ...order, seconds: 1, before: 0 });
  const before = countCalls(trace);
  const { requests } = await ground.send({ ...order, before: 2 * warmUp.requests });
  const syncs = countCalls(trace) - before;
  await stopRunning(running);
  return syncs / requests;
}

/** A call that is interrupted by another thread's has two lines, "unfinished" and "resumed". */
function countCalls(trace: string): number {
  const lines = fs.readFileSync(trace, 'utf8').split('\n');
  return lines.filter((line) => /^\d+ +(?:fsync|fdatasync|sync_file_range|msync)\(/.test(line)).length;
}
