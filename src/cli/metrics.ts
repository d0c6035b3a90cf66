import type { Command } from 'commander';
import type { MetricFamily } from '../metrics/family.ts';
import type { DataOption } from '../store/open/withDatabase.ts';
import { say, stdoutSink } from './terminal/output.ts';

const HELP = `
While the daemon is down it prints what the database holds, and says so on
standard error. With COURTD_METRICS_FILE the daemon writes the same to a file
every 15 s.

Example:
  courtd metrics | grep courtd_requests_total`;

export function addMetrics(program: Command): void {
  program
    .command('metrics')
    .description('print the metrics of the daemon as Prometheus text')
    .addHelpText('after', HELP)
    .action(async (_options, command) => metrics(command.optsWithGlobals()));
}

/** @throws {OperatorError} where there is no database, where it cannot be read, or where the daemon does not answer. */
async function metrics({ data }: DataOption): Promise<void> {
  const { askDaemon } = await import('../control/controlClient.ts');
  const { METRICS_PATH } = await import('../metrics/family.ts');
  const { render } = await import('../metrics/render.ts');
  const { withDatabase } = await import('../store/open/withDatabase.ts');
  const families = await withDatabase({ data }, async (db) => {
    const running = await askDaemon<MetricFamily[]>(data, METRICS_PATH);
    if (running !== undefined) return running;
    say('courtd: the daemon is not running: these metrics come from the database.');
    const { readOwnShipView } = await import('../fleet/feed/readShipStatus.ts');
    const { stoppedFamilies } = await import('../metrics/stopped.ts');
    return stoppedFamilies(db, data, await readOwnShipView(data, db));
  });
  await stdoutSink().write(render(families));
}
