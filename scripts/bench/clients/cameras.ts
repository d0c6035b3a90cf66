import path from 'node:path';
import { Child } from '../child.ts';
import type { Target } from '../contender.ts';

/** An open-loop client, in a process of its own: cameras send on schedule, whether they have been answered or not. */

/** What the cameras send. The times of all requests are fixed before the first. */
export interface Shift {
  readonly target: Target;
  readonly cameras: number;
  /** All cameras together. */
  readonly eventsPerS: number;
  /** In a request: from 1 to this many. */
  readonly mostEvents: number;
  readonly seconds: number;
  /** Part of the sessions' names. */
  readonly run: string;
}

/** The outcome. Latency is counted from the time a request was due, so waiting behind a slow one counts too. */
export interface ShiftOutcome {
  readonly requests: number;
  readonly events: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Anything but a 2xx with all its events accepted. */
  readonly failures: number;
  /** How late the cameras themselves were: above a few ms the machine was too busy to measure. */
  readonly lateMs: number;
}

const MAIN = path.join(import.meta.dirname, 'cameras-main.ts');

export async function runCameras(shift: Shift): Promise<ShiftOutcome> {
  return JSON.parse(await new Child(process.execPath, [MAIN, JSON.stringify(shift)]).output());
}
