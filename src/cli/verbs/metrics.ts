import type { Command } from 'commander';
import { askDaemon, notRunning } from '../../control/controlClient.ts';
import { METRICS_PATH } from '../../metrics/prometheusText.ts';
import type { DataOption } from '../../store/db/openDatabase.ts';
import { stdoutSink } from '../terminal/output.ts';

const HELP = `
With --run-dir (COURTD_RUN_DIR) the daemon writes the same to metrics.prom.

Example:
  courtd metrics | grep courtd_requests_total`;

export function define(command: Command): void {
  command.addHelpText('after', HELP).action((_options, command) => metrics(command.optsWithGlobals()));
}

/** @throws {OperatorError} if no daemon runs, or it does not answer. */
async function metrics({ data }: DataOption): Promise<void> {
  const text = await askDaemon<string>(data, METRICS_PATH);
  if (text === undefined) throw notRunning(data);
  await stdoutSink().write(text);
}
