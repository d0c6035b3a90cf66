import type { KeyLimits } from '../../src/store/write/keys.ts';
import type { Plant } from './plants.ts';

/** A text of a file of `src`, and what is read in its place. */
export interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** So few that their keys move to the file in every history. */
export const FEW_KEYS: KeyLimits = { calm: 10, urgent: 16, most: 1_000, step: 6 };

/** A migration that production does not have, so that there is an upgrade; and what undoes it, but for the version. */
const MIGRATION = 'ALTER TABLE token ADD COLUMN note TEXT; CREATE INDEX event_newer ON event (session, seq);';
export const OLDER_LAYOUT = 'DROP INDEX event_newer; ALTER TABLE token DROP COLUMN note;';

/**
 * The store in miniature: bounds that a history of thirty requests reaches, so that a checkpoint in the worker and a
 * prune of many steps happen in it. Those of keys are parameters. The code is production's.
 */
export const MINIATURE: readonly Change[] = [
  { file: 'base/limits.ts', from: 'RESERVE_BYTES = 6 * MIB', to: 'RESERVE_BYTES = 64 * KIB' },
  { file: 'base/limits.ts', from: 'CONFLICT_COPIES = 1_000', to: 'CONFLICT_COPIES = 5' },
  { file: 'base/limits.ts', from: 'READ_CHUNK_ROWS = 500', to: 'READ_CHUNK_ROWS = 7' },
  { file: 'base/limits.ts', from: 'NAMES_CACHED = 20_000', to: 'NAMES_CACHED = 4' },
  { file: 'store/write/sessionCounters.ts', from: 'ms: 1_000, events: 1_000', to: 'ms: 10, events: 5' },
  { file: 'store/wal/checkpointer.ts', from: 'CHECKPOINT_FRAMES = 1_000', to: 'CHECKPOINT_FRAMES = 20' },
  {
    file: 'store/wal/checkpointer.ts',
    from: 'INLINE_CHECKPOINT_FRAMES = 4_000',
    to: 'INLINE_CHECKPOINT_FRAMES = 40',
  },
  { file: 'store/write/groupCommit.ts', from: 'GROUP_EVENTS = 4_000', to: 'GROUP_EVENTS = 12' },
  { file: 'store/retention/steps.ts', from: 'rows: 50,', to: 'rows: 3,' },
  { file: 'store/retention/steps.ts', from: 'rows: 1_000,', to: 'rows: 5,' },
  { file: 'store/retention/unusedNames.ts', from: 'STEP_KEYS = 1_000', to: 'STEP_KEYS = 3' },
  { file: 'store/retention/expiredEvents.ts', from: 'LOOK_ROWS = 1_000', to: 'LOOK_ROWS = 20' },
  { file: 'fleet/log/chunk.ts', from: 'events: 500, bytes', to: 'events: 9, bytes' },
  { file: 'store/backup/follow.ts', from: 'STEP = { events: 2_000', to: 'STEP = { events: 5' },
  {
    // The layout that the migrations make is made once, and not at each start: two milliseconds.
    file: 'store/layout/layoutFault.ts',
    from: `migrate(model, MIGRATIONS.slice(0, version));
    const [expected, found] = [partsOf(model), partsOf(db)];`,
    to: `const made = ((globalThis as any).layouts ??= new Map());
    if (!made.has(version)) {
      migrate(model, MIGRATIONS.slice(0, version));
      made.set(version, partsOf(model));
    }
    const [expected, found] = [made.get(version), partsOf(db)] as const;`,
  },
  {
    file: 'store/layout/schema.ts',
    from: 'const MIGRATIONS: readonly string[] = [LAYOUT];',
    to: `const MIGRATIONS: readonly string[] = [LAYOUT, '${MIGRATION}'];`,
  },
];

/** Files that a worker thread or a process of its own runs: here each is a function. */
const WORKERS: readonly string[] = ['store/wal/checkpointWorker.ts', 'store/backup/backupWorker.ts'];

/**
 * @param file of `src`, relative to it. @returns its text as the simulation reads it.
 * @throws where a text to replace is not there any more, or not just once.
 */
export function transformed(file: string, source: string, planted: Plant | undefined): string {
  const changes = [...MINIATURE, ...(planted?.changes ?? [])].filter((change) => change.file === file);
  const text = changes.reduce(replaced, source);
  return WORKERS.includes(file) ? asFunction(file, text) : text;
}

function replaced(source: string, { file, from, to }: Change): string {
  const parts = source.split(from);
  if (parts.length !== 2) throw new Error(`src/${file} has ${parts.length - 1} times, not once: ${from}`);
  return parts.join(to);
}

function asFunction(file: string, source: string): string {
  const lines = source.split('\n').filter((line) => !line.includes("from 'node:worker_threads'"));
  const end = lines.findLastIndex((line) => line.startsWith('import ')) + 1;
  if (end === 0) throw new Error(`src/${file} imports nothing`);
  const [imports, body] = [lines.slice(0, end), lines.slice(end)];
  const isAsync = body.some((line) => /\bawait\b/.test(line));
  return [
    ...imports,
    `export default ${isAsync ? 'async ' : ''}function (workerData: unknown, parentPort: any, process: any) {`,
    ...body,
    '}',
  ].join('\n');
}
