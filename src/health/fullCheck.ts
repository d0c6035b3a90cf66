import type { DataDirectory } from '../base/dataDirectory.ts';
import { counted } from '../base/units.ts';
import { yieldToIngest } from '../base/yieldToIngest.ts';
import { withDatabase } from '../store/db/withDatabase.ts';
import { type Consistency, checkConsistency } from '../store/keep/consistency.ts';
import { checked } from './checks.ts';
import { type CheckResult, fail, ok } from './finding.ts';
import { problem } from './problems.ts';

/** Shows how far a long check is. */
interface Progress {
  show(text: () => string): void;
  clear(): void;
}

const RESTORE = problem('damage').advice;

const FAULTS: readonly (readonly [keyof Consistency, (count: number) => string])[] = [
  ['damaged', (n) => `${counted(n, 'event')} damaged: exports name them and leave them out.`],
  ['withoutKey', (n) => `${counted(n, 'event')} without a key: sent again, it would be stored again.`],
  ['astray', (n) => `${counted(n, 'key')} without the event that it is of.`],
  ['twice', (n) => `${counted(n, 'event')} stored more than once.`],
  ['strayConflicts', (n) => `${counted(n, 'conflict')} without its event, or damaged.`],
  ['miscounted', (n) => `${counted(n, 'session')} with another number of events than it counts.`],
];

/**
 * `courtd check --full`: reads every page, every event with its checksum and its key, and every count. The write-ahead log of the
 * daemon grows meanwhile, as long as it takes. A signal ends the process.
 */
export async function checkDatabase(data: DataDirectory, progress: Progress): Promise<CheckResult[]> {
  const look = () =>
    withDatabase({ data }, (db) => {
      progress.show(() => 'every page is read');
      const lines = db.pragma('integrity_check') as { integrity_check: string }[];
      const bad = lines.filter((line) => line.integrity_check !== 'ok').length;
      const count = bad >= 100 ? '100 or more faults' : counted(bad, 'fault');
      const found = checkConsistency(db, (events) => progress.show(() => `${events} events read`));
      const faults = [
        ...(bad === 0 ? [] : [`The integrity check of SQLite finds ${count}.`]),
        ...FAULTS.filter(([name]) => found[name] > 0).map(([name, tell]) => tell(found[name])),
      ];
      if (faults.length > 0) return faults.map((fault) => fail(fault, RESTORE));
      return ok('Every page, every event, every key and every count is right.');
    });
  yieldToIngest();
  try {
    return await checked('database', look);
  } finally {
    progress.clear();
  }
}
