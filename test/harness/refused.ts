import fs from 'node:fs';
import path from 'node:path';
import type { Test } from 'tap';
import { type Daemon, temporaryFolder } from './daemon.ts';
import type { event } from './events.ts';
import { jsonLines } from './lines.ts';

/** The lines of `rejections export`, corrected and imported again. */

export interface RefusedLine {
  readonly request_id: string;
  readonly index: number;
  readonly received_at: string;
  readonly faults: readonly { path: string; message: string }[];
  readonly event?: ReturnType<typeof event>;
  readonly body?: string;
}

export const cam3 = { source: 'cam-3', court_id: 'court-3' };
export const percent = { ...cam3, confidence: 97 };

export const linesOf = (text: string): RefusedLine[] => jsonLines(text);

/** @returns once what was rejected until now is in the file. */
export async function written(box: Daemon): Promise<void> {
  await box.command('rejections', 'drop', 'nobody');
}

export async function exported(box: Daemon, ...more: string[]): Promise<RefusedLine[]> {
  await written(box);
  const { status, stdout, stderr } = await box.command('rejections', 'export', ...more);
  if (status !== 0) throw new Error(stderr);
  return linesOf(stdout);
}

/** Imports lines from a file. */
export async function imported(t: Test, box: Daemon, lines: readonly unknown[]) {
  const file = path.join(temporaryFolder(t), 'mended.ndjson');
  fs.writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const { status, stdout, stderr } = await box.command('import', '--json', file);
  return { status, stderr, ...JSON.parse(stdout) };
}

export const mended = (line: RefusedLine): RefusedLine => ({
  ...line,
  event: { ...line.event!, confidence: line.event!.confidence > 1 ? line.event!.confidence / 100 : 0.5 },
});
