import { OperatorError } from '../../base/operatorError.ts';
import type { DataOption } from '../options/withDatabase.ts';
import { type JsonOption, printJson, printText, say } from '../terminal/output.ts';
import { canvasOf } from '../terminal/style.ts';
import { makeReport } from './report.ts';
import { drawStatus } from './screen.ts';
import { hasDatabase, readDaemonView, readStoreView } from './views.ts';
import { watch } from './watch.ts';

export interface StatusOptions extends DataOption, JsonOption {
  readonly watch?: boolean;
}

const EXIT = { problems: 1, noDatabase: 3 } as const;

/** `courtd status`: exit status 0 where all is well, 1 where something needs a person, 3 where there is no database. */
export async function status(options: StatusOptions): Promise<void> {
  try {
    await show(options);
  } catch (error) {
    if (!(error instanceof OperatorError) || hasDatabase(options.data)) throw error;
    say(`courtd: ${error.message}`);
    process.exitCode = EXIT.noDatabase;
  }
}

async function show({ data, json, watch: isWatching }: StatusOptions): Promise<void> {
  if (isWatching) return watch(data);
  const store = await readStoreView(data);
  const report = makeReport(await readDaemonView(data), store, Date.now());
  if (json) printJson(report.status);
  else printText(`${drawStatus(report, canvasOf(process.stdout), Date.now()).join('\n')}\n`);
  if (report.status.state !== 'ok') process.exitCode = EXIT.problems;
}
