import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { OperatorError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import { askBox } from '../../control/controlClient.ts';
import type { Status } from '../../health/boxStatus.ts';
import type { DataOption } from '../../store/db/openDatabase.ts';
import { json } from '../options/optionParsers.ts';
import { drawStatus } from '../status/screen.ts';
import { clearScreen, hints, type JsonOption, printJson, printText, say } from '../terminal/output.ts';
import { canvasOf } from '../terminal/style.ts';

const HELP = `
The exit status is 0 if all is well, 1 if something needs a person or the daemon
does not run, and 3 without a database. With --brief it is that of a Nagios
plugin: 0 all is well, 1 something needs attention, 2 something is wrong,
3 the daemon does not run, or nothing is known.

Examples:
  courtd status --watch
  courtd status --json | jq -r '.problems[].message'`;

export function define(command: Command): void {
  command
    .addOption(json().conflicts(['watch', 'brief']))
    .option('--brief', "print one line, with a Nagios plugin's exit status")
    .option('--watch', 'clear the screen and print again every second')
    .addHelpText('after', HELP)
    .action(async ({ watch, brief }, command) => {
      if (watch && (brief || !process.stdout.isTTY))
        command.error('error: --watch needs a terminal, and no --brief.', { exitCode: 2 });
      await status(command.optsWithGlobals());
    });
}

interface StatusOptions extends DataOption, JsonOption {
  readonly watch?: boolean;
  readonly brief?: boolean;
}

const WATCH_MS = 1_000;

async function status({ data, brief, json, watch }: StatusOptions): Promise<void> {
  try {
    for (; watch; await sleep(WATCH_MS)) print(await askBox(data), true);
    const box = await askBox(data);
    if (brief) return printBriefly(box.state, summary(box));
    if (json) printJson(box);
    else print(box);
    if (box.state !== 'ok') process.exitCode = 1;
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    if (brief) return printBriefly('unknown', error.message);
    if (fs.existsSync(data.file('database'))) throw error;
    say(`courtd: ${error.message}`);
    process.exitCode = 3;
  }
}

function print(box: Status, isWatching = false): void {
  const canvas = canvasOf(process.stdout);
  const lines = drawStatus(box, canvas, Date.now());
  if (isWatching) clearScreen();
  const shown = isWatching ? lines.slice(0, (canvas.rows ?? lines.length + 1) - 1) : lines;
  printText(`${shown.join('\n')}\n`);
}

/** By the plugin guidelines of Nagios: the word, and the exit status. */
const BRIEF = {
  ok: ['OK', 0],
  attention: ['WARNING', 1],
  failing: ['CRITICAL', 2],
  stopped: ['CRITICAL', 2],
  unknown: ['UNKNOWN', 3],
} as const;

function printBriefly(state: keyof typeof BRIEF, text: string): void {
  const [word, exit] = BRIEF[state];
  // What follows a "|" are figures for Nagios.
  printText(`${word} - ${visible(hints.complete(text)).replaceAll('|', '/')}\n`);
  process.exitCode = exit;
}

/** @returns the first problem, and how many more there are. */
function summary({ problems: [first, ...more], sources, rates }: Status): string {
  if (first !== undefined) return `${first.message}${more.length === 0 ? '' : ` And ${more.length} more.`}`;
  return `${counted(sources.length, 'source')}, ${counted(rates.events_last_minute ?? 0, 'event')} in the last minute.`;
}
