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
import { bytesFor } from '../../base/units.ts';
import { LOG_LEVELS } from '../../host/logLevels.ts';
import {
  integer,
  notEmpty,
  option,
  parseKeep,
  parseName,
  parseQuietHours,
  runDir,
  sizeBetween,
} from '../options/optionParsers.ts';

const HELP = `
Each option has a variable: --body-limit is COURTD_BODY_LIMIT.
  courtd serve --data ./data --host 127.0.0.1 --port 4001`;

export function define(command: Command): void {
  const number = (flags: string, description: string, usual: number, most: number) =>
    option(flags, description).default(usual).argParser(integer(0, most));
  const size = (flags: string, description: string, usual: number, least = 0, most = Infinity) =>
    option(flags, description)
      .default(usual, bytesFor(usual).replace('.0 ', ''))
      .argParser(sizeBetween(least, most));
  const keep = (flags: string, description: string) =>
    option(flags, description).default(0, '0').argParser(parseKeep);
  const { least, most } = BODY_LIMIT_BYTES;
  command
    .addOption(option('--host <address>', 'the address to listen on').default('0.0.0.0').argParser(notEmpty))
    .addOption(number('--port <n>', 'the port; 0 picks one', PORT, 65_535))
    .addOption(option('--venue <id>', 'accept only events of this venue_id').argParser(parseName))
    .addOption(number('--rate-limit <n>', 'requests/s of one address', RATE_PER_S, RATE_LIMIT_MAX_PER_S))
    .addOption(number('--connections-per-address <n>', '0 is no limit', CONNECTIONS_PER_ADDRESS, CONNECTIONS))
    .addOption(size('--body-limit <size>', 'the largest body', BODY_BYTES, least, most))
    .addOption(size('--min-free <size>', 'free space to warn below', MIN_FREE_BYTES))
    .addOption(keep('--keep <age>', 'age at which events are deleted'))
    .addOption(keep('--keep-positions <age>', 'the same for PLAYER_POSITION'))
    .addOption(
      option('--quiet <from-to>', 'do not report silent cameras in these hours').argParser(parseQuietHours),
    )
    .addOption(size('--refused-bytes <size>', 'space for rejected bodies', REFUSED_BYTES))
    .addOption(
      option('--log-level <level>', 'debug, info, warn or error').choices(LOG_LEVELS).default('info'),
    )
    .addOption(option('--tls-cert <file>', 'serve TLS; SIGHUP reads it again').argParser(notEmpty))
    .addOption(option('--tls-key <file>', 'the private key of the certificate').argParser(notEmpty))
    .addOption(runDir('where to write status.json, metrics.prom'))
    .addHelpText('after', HELP)
    .action(async ({ tlsCert, tlsKey }, command) => {
      if ((tlsCert === undefined) !== (tlsKey === undefined)) {
        const message = '--tls-cert and --tls-key (COURTD_TLS_CERT, COURTD_TLS_KEY) go together: give both.';
        command.error(`error: ${message}`, { exitCode: 2 });
      }
      // Loading the server takes most of a start, and an unhandled SIGHUP would end the process. serve() handles it later.
      process.on('SIGHUP', () => {});
      await (await import('./runDaemon.ts')).serve(command.optsWithGlobals());
    });
}
