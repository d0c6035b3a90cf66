import type { Command } from 'commander';
import { say } from '../terminal/output.ts';

/** Variables without an option: the units of the timers and the package read them. */
const UNIT_VARIABLES = [
  'COURTD_BACKUP_DIR',
  'COURTD_BACKUP_KEEP',
  'COURTD_KEEP',
  'COURTD_KEEP_POSITIONS',
  'COURTD_PURGE_DATA',
];

/** An empty variable counts as unset, as in an EnvironmentFile of systemd; commander would take it as a value. */
export function dropEmptyVariables(): void {
  for (const name of Object.keys(process.env)) {
    if (name.startsWith('COURTD_') && process.env[name] === '') delete process.env[name];
  }
}

/** Reports a misspelt COURTD_ variable, which would otherwise have no effect and no message. */
export function warnOfUnknownVariables(program: Command): void {
  const known = knownVariables(program);
  for (const name of Object.keys(process.env).sort()) {
    if (!name.startsWith('COURTD_') || known.includes(name)) continue;
    const near = nearestVariable(name, program);
    const advice = near === undefined ? '"courtd serve --help" shows the settings.' : `did you mean ${near}?`;
    say(`courtd: the variable ${name} has no effect: ${advice}`);
  }
}

/** @returns the name of every variable that has an effect. */
export function knownVariables(program: Command): string[] {
  const of = ({ options, commands }: Command): string[] => [
    ...options.flatMap(({ envVar }) => envVar ?? []),
    ...commands.flatMap(of),
  ];
  return [...of(program), ...UNIT_VARIABLES];
}

/** @returns the known name at the smallest edit distance from `name`, if that is small for its length. */
export function nearestVariable(name: string, program: Command): string | undefined {
  let [best, smallest] = [undefined as string | undefined, Math.max(2, Math.ceil((name.length - 7) / 3)) + 1];
  for (const other of knownVariables(program)) {
    const distance = editDistance(name, other);
    if (distance < smallest) [best, smallest] = [other, distance];
  }
  return best;
}

/** The number of letters to insert, delete, replace or swap with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
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
