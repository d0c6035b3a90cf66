import type { Command } from 'commander';
import { visible } from '../../base/visibleText.ts';
import { askStatus } from '../../control/controlClient.ts';
import { boxOf, type CheckResult, checkDatabase, runChecks, type Variables } from '../../health/checks.ts';
import { assertDatabase, type DataOption } from '../../store/db/openDatabase.ts';
import { explain } from '../../store/db/openErrors.ts';
import { VARIABLES, variableFault } from '../options/environmentVariables.ts';
import { json } from '../options/optionParsers.ts';
import {
  exitWhenPrinted,
  hints,
  type JsonOption,
  printJson,
  printText,
  progress,
} from '../terminal/output.ts';
import { canvasOf, styled, wrap } from '../terminal/style.ts';

const HELP = `
It finds what "courtd status" cannot see: the settings, the time server, the
backup timer and its directory, whether the port answers from here, and how
long a sync of the disk takes. The exit status is 1 if a check fails.

Example:
  sudo courtd check`;

export function define(command: Command, loadAll: () => Promise<Command>): void {
  command
    .option('--full', 'read the whole database, too: every page, event, key and count')
    .addOption(json())
    .addHelpText('after', HELP)
    .action(async (_options, command) => check(command.optsWithGlobals(), await loadAll()));
}

/** @param program with all its verbs. @returns the variables that courtd knows, with their parsers. */
export function variablesOf(program: Command): Variables {
  return {
    isKnown: (name) => VARIABLES.includes(name),
    faultOf: (name, value) => variableFault(program, name, value),
  };
}

type CheckOptions = DataOption & JsonOption & { readonly full?: boolean };

/** @throws {OperatorError} if there is no database. */
async function check({ data, full, json }: CheckOptions, program: Command): Promise<void> {
  try {
    assertDatabase(data);
  } catch (error) {
    throw explain(error, data);
  }
  const daemon = await askStatus(data).catch(() => undefined);
  const results = await runChecks(boxOf(data, variablesOf(program), daemon));
  if (full) results.push(...(await checkDatabase(data, progress)));
  if (results.some(({ level }) => level === 'fail')) process.exitCode = 1;
  if (json) printJson(results);
  else printText(textOf(results));
  exitWhenPrinted();
}

const STYLES = { ok: 'good', warn: 'warn', fail: 'fail' } as const;

/** @returns a line per check, as wide as the terminal, with its advice below. */
function textOf(results: readonly CheckResult[]): string {
  const canvas = canvasOf(process.stdout);
  const wrapped = (text: string, indent: number) =>
    wrap(visible(text), (canvas.columns ?? Infinity) - indent).map((line) => ' '.repeat(indent) + line);
  const lines = results.flatMap(({ name, level, message, advice }) => {
    const [first = '', ...more] = wrapped(`${name}: ${message}`, 6);
    const advised = advice === '' ? [] : wrapped(hints.complete(advice), 8);
    return [styled(level.padEnd(6), STYLES[level], canvas) + first.slice(6), ...more, ...advised];
  });
  return `${lines.join('\n')}\n`;
}
