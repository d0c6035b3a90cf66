import { setTimeout as sleep } from 'node:timers/promises';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { OperatorError } from '../base/operatorError.ts';
import { openStoppedStore } from '../store/stoppedStore.ts';
import type { Store } from '../store/store.ts';
import { followDaemon } from './controlClient.ts';
import type { WorkLine } from './workRoute.ts';

/** For how long a command keeps a daemon from starting, once it has got further, and how long it then waits for one. */
const ALONE_MS = 15_000;
const GIVE_WAY_MS = 500;
/** How often, one after another, it may get no further, because the daemon ends or another command writes. */
const TRIES = 60;

/** Work of the writer, as a command has it done. */
interface Work<Doing extends string, Result> {
  /** Of the daemon's route (workRoute.ts), and what it is asked with. */
  readonly path: string;
  readonly request: unknown;
  /** As in `courtd prune`. */
  readonly command: string;
  readonly on: (doing: Doing, count: number) => void;
  /** Is told how far the daemon was, where it did not come to the end. */
  readonly cut: () => void;
  /** Does it in this process. */
  alone(store: Store, signal: AbortSignal): Promise<Result>;
  /** Grows as long as it gets further. */
  progress(): number;
  /** Is told why the disk has failed: then the process ends. */
  failed(why: string): void;
}

/**
 * The daemon does it, where it runs; else this process, behind the daemon's lock, which it gives up every now and then: a daemon
 * that starts meanwhile goes on with it.
 * @throws {OperatorError} where it cannot be done: what has been done stays done.
 */
export async function workAnyhow<Doing extends string, Result>(
  data: DataDirectory,
  work: Work<Doing, Result>,
): Promise<Result> {
  for (let tries = 0; tries < TRIES; tries++) {
    const before = work.progress();
    const result = (await workByDaemon(data, work)) ?? (await workAlone(data, work));
    if (result !== undefined) return result.done;
    if (work.progress() > before) tries = 0;
    await sleep(GIVE_WAY_MS);
  }
  throw new OperatorError(
    `Another command writes to ${data}, or the daemon does not stay up: look at its log ("journalctl -u courtd"), and run "courtd ${work.command}" again.`,
  );
}

/** @returns undefined where that is not done. */
async function workByDaemon<Doing extends string, Result>(
  data: DataDirectory,
  { path, request, on, cut }: Work<Doing, Result>,
): Promise<{ done: Result } | undefined> {
  let result: { done: Result } | undefined;
  const answer = await followDaemon<WorkLine<Doing, Result>>(data, path, request, (line) => {
    if ('failed' in line) throw new OperatorError(line.failed);
    if ('done' in line) result = line;
    else on(line.doing, line.count);
  });
  if (result === undefined) cut();
  if (answer === 'whole' && result === undefined)
    throw new OperatorError('The daemon did not finish: see its log, and run this again.');
  return result;
}

/** @returns undefined where that is not done: a daemon may have come first, or be waiting. */
async function workAlone<Doing extends string, Result>(
  data: DataDirectory,
  work: Work<Doing, Result>,
): Promise<{ done: Result } | undefined> {
  const store = await openStoppedStore(data, work.failed);
  if (store === undefined) return undefined;
  const begun = { at: performance.now(), progress: work.progress() };
  const isOver = new AbortController();
  // Each try begins by writing the keys that are in memory only: where that alone takes so long, none would ever get further.
  const timer = setInterval(() => {
    if (performance.now() - begun.at >= ALONE_MS && work.progress() > begun.progress) isOver.abort();
  }, GIVE_WAY_MS);
  try {
    return { done: await work.alone(store, isOver.signal) };
  } catch (error) {
    if (!isOver.signal.aborted) throw error;
    return undefined;
  } finally {
    clearInterval(timer);
    await store.close();
  }
}
