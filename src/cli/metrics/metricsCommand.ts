import type { Command } from 'commander';

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
    .action(async (_options, command) => (await import('./metrics.ts')).metrics(command.optsWithGlobals()));
}
