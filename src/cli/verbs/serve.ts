import type { Command } from 'commander';
import {
  BODY_BYTES,
  BODY_LIMIT_BYTES,
  CONNECTIONS,
  CONNECTIONS_PER_ADDRESS,
  MIN_FREE_BYTES,
  PORT,
  RATE_LIMIT_MAX_PER_S,
  RATE_PER_S,
  REFUSED_BYTES,
} from '../../base/limits.ts';
import { LOG_LEVELS } from '../../host/logLevels.ts';
import {
  integer,
  keep,
  notEmpty,
  option,
  parseName,
  parseQuietHours,
  parseSize,
  runDir,
  sizeBetween,
} from '../options/optionParsers.ts';

const HELP = `
Each option has a variable: --body-limit is COURTD_BODY_LIMIT. 0 is no limit.
A size is such as 8MiB, an age 365d, hours 23:00-07:00 (local time). SIGHUP
reads the certificate again.

Example:
  courtd serve --data ./data --host 127.0.0.1 --port 4001`;

export function define(command: Command): void {
  command
    .description('run the daemon: it takes events, and logs JSON lines to standard output')
    .addOption(option('--host <address>', 'the address to listen on').default('0.0.0.0').argParser(notEmpty))
    .addOption(option('--port <n>', 'the port; 0 picks one').default(PORT).argParser(integer(0, 65_535)))
    .addOption(option('--venue <id>', 'accept only events of this venue_id').argParser(parseName))
    .addOption(
      option('--rate-limit <n>', 'requests/s of one address')
        .default(RATE_PER_S)
        .argParser(integer(0, RATE_LIMIT_MAX_PER_S)),
    )
    .addOption(
      option('--connections-per-address <n>', 'connections of one address')
        .default(CONNECTIONS_PER_ADDRESS)
        .argParser(integer(0, CONNECTIONS)),
    )
    .addOption(
      option('--body-limit <size>', 'the largest body')
        .default(BODY_BYTES, '8MiB')
        .argParser(sizeBetween(BODY_LIMIT_BYTES.least, BODY_LIMIT_BYTES.most)),
    )
    .addOption(
      option('--min-free <size>', 'free space to warn below')
        .default(MIN_FREE_BYTES, '1GiB')
        .argParser(parseSize),
    )
    .addOption(keep('--keep <age>', 'how long events are kept'))
    .addOption(keep('--keep-positions <age>', 'how long PLAYER_POSITION is kept'))
    .addOption(
      option('--quiet <from-to>', 'hours in which silent cameras are no problem').argParser(parseQuietHours),
    )
    .addOption(
      option('--refused-bytes <size>', 'space for rejected bodies')
        .default(REFUSED_BYTES, '256MiB')
        .argParser(parseSize),
    )
    .addOption(option('--log-level <level>', 'how much to log').choices(LOG_LEVELS).default('info'))
    .addOption(option('--tls-cert <file>', 'serve TLS with this certificate').argParser(notEmpty))
    .addOption(option('--tls-key <file>', 'the private key of the certificate').argParser(notEmpty))
    .addOption(runDir('where to write status.json, metrics.prom'))
    .addHelpText('after', HELP)
    .action(async ({ tlsCert, tlsKey }, command) => {
      if ((tlsCert === undefined) !== (tlsKey === undefined)) {
        const message =
          '--tls-cert and --tls-key (COURTD_TLS_CERT, COURTD_TLS_KEY) go together: give both or neither.';
        command.error(`error: ${message}`, { exitCode: 2 });
      }
      // Loading the server takes most of a start, and an unhandled SIGHUP would end the process. serve() handles it later.
      process.on('SIGHUP', () => {});
      await (await import('./runDaemon.ts')).serve(command.optsWithGlobals());
    });
}
