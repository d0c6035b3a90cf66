import type { DataDirectory } from '../base/dataDirectory.ts';
import { counted } from '../base/units.ts';
import { type Consistency, inspect } from '../store/inspection/inspect.ts';
import { attempt, together } from './checks.ts';
import { type CheckResult, type Finding, fail, ok, warn } from './finding.ts';
import { problem } from './problems.ts';

/** Shows how far a long check is. */
interface Progress {
  show(text: () => string): void;
  clear(): void;
}

const INTEGRITY_MS = 3_600_000;
const UNBOUNDED_MS = 2 ** 31 - 1;
const RESTORE = problem('damage').advice;
const AGAIN = 'Run "courtd check --full" again when nobody plays, or with --data on a restored backup.';

const FAULTS: readonly (readonly [keyof Consistency, (count: number) => string])[] = [
  ['damaged', (n) => `${counted(n, 'event')} damaged: exports name them and leave them out.`],
  ['withoutKey', (n) => `${counted(n, 'event')} without a key: sent again, it would be stored again.`],
  ['astray', (n) => `${counted(n, 'key')} without the event that it is of.`],
  ['twice', (n) => `${counted(n, 'event')} stored more than once.`],
  ['strayConflicts', (n) => `${counted(n, 'conflict')} without its event, or damaged.`],
  ['miscounted', (n) => `${counted(n, 'session')} with another number of events than it counts.`],
];

/** `courtd check --full`: reads every page, every event with its checksum and its key, and every count. */
export async function checkDatabase(
  data: DataDirectory,
  progress: Progress,
  signal: AbortSignal,
): Promise<CheckResult> {
  const look = async () => {
    const pages = await checkPages(data, progress, signal);
    return together(
      [pages, ...(await checkContents(data, progress, signal))],
      ok('Every page, every event, every key and every count is right.'),
    );
  };
  try {
    return { name: 'database', ...(await attempt(look, UNBOUNDED_MS)) };
  } finally {
    progress.clear();
  }
}

async function checkPages(
  data: DataDirectory,
  progress: Progress,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  progress.show(() => 'every page is read');
  const faults = await inspect('integrity', data, { signal, timeoutMs: INTEGRITY_MS });
  if (faults === 0) return undefined;
  if (faults === undefined)
    return warn('The pages could not be read at once, because the daemon writes too much beside it.', AGAIN);
  const count = faults >= 100 ? '100 or more faults' : counted(faults, 'fault');
  return fail(`The integrity check of SQLite finds ${count}.`, RESTORE);
}

async function checkContents(
  data: DataDirectory,
  progress: Progress,
  signal: AbortSignal,
): Promise<Finding[]> {
  const told = (done: number, of: number) =>
    progress.show(
      () => `events and keys are read: ${Math.min(100, Math.floor((100 * done) / Math.max(1, of)))} %`,
    );
  const found = await inspect('consistency', data, { signal, told });
  if (found === undefined) return [warn('Events and keys could not be read beside the daemon.', AGAIN)];
  return FAULTS.filter(([name]) => found[name] > 0).map(([name, tell]) => fail(tell(found[name]), RESTORE));
}
