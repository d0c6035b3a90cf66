import { OperatorError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import { makeReport, type Status } from '../../health/status.ts';
import type { DataOption } from '../../store/open/withDatabase.ts';
import { type JsonOption, printJson, printText, say } from '../terminal/output.ts';
import { canvasOf } from '../terminal/style.ts';
import { drawStatus } from './screen.ts';
import { askForView, hasDatabase, lookAtStore } from './views.ts';
import { watch } from './watch.ts';

interface StatusOptions extends DataOption, JsonOption {
  readonly watch?: boolean;
  readonly brief?: boolean;
}

const EXIT = { problems: 1, noDatabase: 3 } as const;

/** `courtd status`: exit status 0 where all is well, 1 where something needs a person, 3 where there is no database; `--brief` has its own. */
export async function status(options: StatusOptions): Promise<void> {
  try {
    await show(options);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    if (options.brief) return sayBriefly('stopped', error.message);
    if (hasDatabase(options.data)) throw error;
    say(`courtd: ${error.message}`);
    process.exitCode = EXIT.noDatabase;
  }
}

async function show({ data, json, watch: isWatching, brief }: StatusOptions): Promise<void> {
  if (isWatching) return watch(data);
  const store = await lookAtStore(data);
  const report = makeReport(await askForView(data), store, Date.now());
  if (brief) return sayBriefly(report.status.state, summary(report.status));
  if (json) printJson(report.status);
  else printText(`${drawStatus(report, canvasOf(process.stdout), Date.now()).join('\n')}\n`);
  if (report.status.state !== 'ok') process.exitCode = EXIT.problems;
}

/** By the plugin guidelines of Nagios: the word, and the exit status. */
const BRIEF: Record<Status['state'], readonly [word: string, exit: number]> = {
  ok: ['OK', 0],
  attention: ['WARNING', 1],
  failing: ['CRITICAL', 2],
  stopped: ['UNKNOWN', 3],
};

/** @param state `stopped` also where it is not known. */
function sayBriefly(state: Status['state'], text: string): void {
  const [word, exit] = BRIEF[state];
  // What follows a "|" are figures for Nagios.
  printText(`${word} - ${visible(text).replaceAll('|', '/')}\n`);
  process.exitCode = exit;
}

/** @returns the first problem, and how many more there are. */
function summary({ problems: [first, ...more], sources, rates }: Status): string {
  if (first !== undefined) return `${first.message}${more.length === 0 ? '' : ` And ${more.length} more.`}`;
  return `${counted(sources.length, 'source')}, ${counted(rates.events_last_minute ?? 0, 'event')} in the last minute.`;
}
