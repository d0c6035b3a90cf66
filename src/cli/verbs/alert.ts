import type { Command } from 'commander';
import { UsageError } from '../../base/operatorError.ts';
import { pause } from '../../base/pause.ts';
import { abortOnSignal } from '../../base/signals.ts';
import { Alert } from '../../health/alertMessage.ts';
import { serviceOf } from '../../host/serviceSettings.ts';
import type { DataOption } from '../../store/db/openDatabase.ts';
import { runDir } from '../options/optionParsers.ts';
import { say } from '../terminal/output.ts';

const HELP = `
Set at least one of these in /etc/courtd/courtd.env, or as a variable:
  COURTD_ALERT_URL      each message is posted there as JSON
  COURTD_ALERT_COMMAND  /bin/sh runs it with each message on standard input
  COURTD_PING_URL       is fetched every 5 min while the box is not failing

Example:
  courtd alert --test --run-dir /run/courtd`;

const LOOK_MS = 60_000;

export function define(command: Command): void {
  command
    .addOption(runDir('the directory that the daemon writes status.json to'))
    .option('--test', 'send one message without problems, and exit')
    .addHelpText('after', HELP)
    .action((_options, command) => alert(command.optsWithGlobals()));
}

type AlertOptions = DataOption & { readonly runDir?: string; readonly test?: boolean };

/** `courtd alert`: until a signal ends it. With `--test` the exit status is 1 if the message was not accepted. */
async function alert({ data, runDir, test }: AlertOptions): Promise<void> {
  if (runDir === undefined) {
    throw new UsageError(
      'The directory of status.json is not set. Add "--run-dir /run/courtd", or set COURTD_RUN_DIR.',
    );
  }
  const env = { ...serviceOf(data).settings, ...process.env };
  const watch = new Alert(runDir, env, (sentence) => say(`courtd: ${sentence}`));
  if (test) {
    process.exitCode = (await watch.send('ok', [], [])) ? 0 : 1;
    return;
  }
  const ending = abortOnSignal();
  for (; !ending.aborted; await pause(LOOK_MS, ending)) await watch.look(performance.now());
}
