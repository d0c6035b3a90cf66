import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Table } from './report.ts';

/** RESULTS.md: the latest results of each section, with the machine, the commit and the date of the run they are from. */

const ROOT = path.resolve(import.meta.dirname, '../..');
export const RESULTS = path.join(import.meta.dirname, 'RESULTS.md');

const INTRODUCTION = `# Results of the benchmark

\`npm run bench\` writes this file. Each section that it runs replaces the one below; the others stay as they were, each with the
machine, the commit and the date of its own run. Compare values only within a section: everything in it ran on one machine.
`;

/** What a section ran on; taken before the first section, since the results themselves change the checkout. */
export interface Circumstances {
  /** YYYY-MM-DD, in UTC. */
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
  /** How it was measured, as a sentence. */
  readonly method: string;
}

export function circumstances(method: string): Circumstances {
  const gib = Math.round(os.totalmem() / 1024 ** 3);
  const machine = `${os.availableParallelism()} x ${os.cpus()[0]?.model}, ${gib} GiB, ${os.type()} ${os.release()}`;
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    machine: `${machine}, Node ${process.version}`,
    method,
  };
}

/**
 * Replaces one section of the file, which is created where there is none.
 * @param order the names of all sections; any other section of the file is removed.
 */
export function writeResults(
  file: string,
  order: readonly string[],
  name: string,
  { date, commit, machine, method }: Circumstances,
  tables: readonly Table[],
): void {
  const sections = readSections(file);
  const head = `${date}, commit ${commit}, ${machine}. ${method}`;
  sections.set(name, `${[head, ...tables.map(markdown)].join('\n\n')}\n`);
  const texts = order.flatMap((one) => {
    const text = sections.get(one);
    return text === undefined ? [] : [`\n## ${one}\n\n${text}`];
  });
  fs.writeFileSync(file, `${INTRODUCTION}${texts.join('')}`);
}

/** @returns the text below each heading. */
function readSections(file: string): Map<string, string> {
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  const [, ...sections] = text.split(/^## /m);
  return new Map(
    sections.map((section) => {
      const end = section.indexOf('\n');
      return [section.slice(0, end), `${section.slice(end).trim()}\n`];
    }),
  );
}

function markdown({ headings, rows }: Table): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  const alignment = headings.map((_, i) => (i === 0 ? '---' : '---:'));
  return [line(headings), line(alignment), ...rows.map(line)].join('\n');
}

/** @returns the short hash of the checkout's commit, and whether the checkout differs from it; the results do not count. */
function commit(): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const changes = git('status', '--porcelain', '--', '.', `:!${path.relative(ROOT, RESULTS)}`);
    return `${git('rev-parse', '--short', 'HEAD')}${changes === '' ? '' : ' with uncommitted changes'}`;
  } catch {
    return 'unknown';
  }
}
