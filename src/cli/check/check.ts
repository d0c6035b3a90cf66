import type { Command } from 'commander';
import { runChecks } from '../checks/allChecks.ts';
import { type BoxOptions, inspectBox } from '../checks/box.ts';
import { checksText } from '../terminal/checksText.ts';
import { exitWhenPrinted, type JsonOption, printJson, printText } from '../terminal/output.ts';

/** `courtd check`. Exit status 1 where one fails. */
export async function check(options: BoxOptions & JsonOption, program: Command): Promise<void> {
  const box = await inspectBox(options, program);
  const results = await runChecks(box);
  if (results.some(({ level }) => level === 'fail')) process.exitCode = 1;
  if (options.json) printJson(results);
  else printText(checksText(results));
  exitWhenPrinted();
}
