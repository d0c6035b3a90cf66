import type { Command } from 'commander';
import { say } from '../terminal/output.ts';

/** Those that no option stands for: the timers' units and the package read them. */
const OF_THE_UNITS = [
  'COURTD_BACKUP_DIR',
  'COURTD_BACKUP_KEEP',
  'COURTD_KEEP',
  'COURTD_KEEP_POSITIONS',
  'COURTD_PURGE_DATA',
];

/** An empty variable counts as unset (design 3); commander would take it as a value. */
export function dropEmptyVariables(): void {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('COURTD_') && process.env[name] === '') delete process.env[name];
  }
}

/** Tells of variables that look like settings and are none, which would otherwise be ignored without a word. */
export function warnOfUnknownVariables(program: Command): void {
  const known = knownVariables(program);
  for (const name of Object.keys(process.env).sort()) {
    if (!name.startsWith('COURTD_') || known.includes(name)) continue;
    const near = nearest(name, known);
    const advice = near === undefined ? '"courtd serve --help" shows the settings.' : `did you mean ${near}?`;
    say(`courtd: the variable ${name} changes nothing: ${advice}`);
  }
}

/** @returns every variable that means something to courtd. */
export function knownVariables(program: Command): string[] {
  const of = ({ options, commands }: Command): string[] => [
    ...options.flatMap(({ envVar }) => envVar ?? []),
    ...commands.flatMap(of),
  ];
  return [...of(program), ...OF_THE_UNITS];
}

/** @returns the known name with the fewest typing errors in between, if they are few for its length. */
function nearest(name: string, known: readonly string[]): string | undefined {
  let [best, fewest] = [undefined as string | undefined, Math.max(2, Math.ceil((name.length - 7) / 3)) + 1];
  for (const other of known) {
    const errors = typingErrors(name, other);
    if (errors < fewest) [best, fewest] = [other, errors];
  }
  return best;
}

/** Letters to add, drop, replace or swap with their neighbour (optimal string alignment). */
function typingErrors(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + same, swapped));
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
