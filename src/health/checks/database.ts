import { counted } from '../../base/units.ts';
import { type Consistency, inspect } from '../../store/inspection/inspect.ts';
import { type Finding, fail, ok, warn } from '../finding.ts';
import { damageProblems } from '../problems.ts';
import { problem } from '../problemTexts.ts';
import type { Box } from './box.ts';
import { type Check, type Fault, together } from './check.ts';

const RESTORE = problem('database_damaged').advice;
const INTEGRITY_MS = 3_600_000;

export const database: Check = {
  name: 'database',
  isUnbounded: ({ isFull }) => isFull,
  look: async (box) => {
    const { events, sessions, unfinishedErasureMs } = await box.database();
    const has = `${counted(events, 'event')} of ${counted(sessions, 'session')}`;
    // What a camera or a prune has come across, where nobody else has looked yet.
    const [met] = damageProblems({ isDamaged: false }, await box.daemon());
    const erasure =
      unfinishedErasureMs === null ? undefined : problem('erasure_unfinished', unfinishedErasureMs);
    if (!box.isFull) {
      return (
        met ??
        erasure ??
        ok(`${has}; its header, its layout, its small tables and its newest events are right.`)
      );
    }
    try {
      const findings = [met, erasure, await aboutPages(box), ...(await aboutContents(box))];
      return together(findings, ok(`${has}: every page, every key and every count is right.`));
    } finally {
      box.progress.clear();
    }
  },
};

async function aboutPages({ data, progress, signal }: Box): Promise<Fault> {
  const startedAt = performance.now();
  const shows = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    progress.show(() => `every page is read: ${seconds} s`);
  }, 500);
  try {
    const faults = await inspect('integrity', data, { signal, timeoutMs: INTEGRITY_MS });
    if (faults === undefined) {
      return warn(
        'Not every page could be read in one go: the daemon writes so much beside it that its log could not be cut off.',
        'Run "courtd check --full" again when nobody plays, or give it a restored backup with --data.',
      );
    }
    if (faults === 0) return undefined;
    return fail(
      `SQLite's integrity check finds ${faults >= 100 ? '100 or more faults' : counted(faults, 'fault')}.`,
      RESTORE,
    );
  } finally {
    clearInterval(shows);
  }
}

async function aboutContents({ data, progress, signal }: Box): Promise<Finding[]> {
  const told = (done: number, of: number) =>
    progress.show(
      () => `events and keys are read: ${Math.min(100, Math.floor((100 * done) / Math.max(1, of)))} %`,
    );
  const found = await inspect('consistency', data, { signal, told });
  if (found === undefined) throw new Error('short reads were in the way');
  const faults = FAULTS.filter(([name]) => found[name] > 0);
  const pruned =
    found.pruned === 0
      ? []
      : [
          warn(
            'A prune ran meanwhile, so some counts could not be compared.',
            'Run "courtd check --full" again when it has ended.',
          ),
        ];
  return [...faults.map(([name, tell]) => fail(tell(found[name]), RESTORE)), ...pruned];
}

const FAULTS: readonly (readonly [keyof Consistency, (count: number) => string])[] = [
  ['damaged', (n) => `${counted(n, 'event')} damaged: exports name them and leave them out.`],
  ['withoutKey', (n) => `${counted(n, 'event')} without a key: sent again, it would be stored again.`],
  ['astray', (n) => `${counted(n, 'key')} without the event that it is of.`],
  ['twice', (n) => `${counted(n, 'event')} stored more than once.`],
  ['strayConflicts', (n) => `${counted(n, 'conflict')} without its event, or damaged.`],
  ['miscounted', (n) => `${counted(n, 'session')} with another number of events than it counts.`],
];
