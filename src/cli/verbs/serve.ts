import type { Command } from 'commander';
import * as limits from '../../base/limits.ts';
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
  const text = (flags: string, description: string, parse: (text: string) => unknown = notEmpty) =>
    command.addOption(option(flags, description).argParser(parse));
  const number = (flags: string, description: string, usual: number, most?: number) =>
    command.addOption(option(flags, description).default(usual).argParser(integer(0, most)));
  const size = (flags: string, description: string, usual: number, least = 0, most = Infinity) => {
    const shown = bytesFor(usual).replace('.0 ', '');
    command.addOption(option(flags, description).default(usual, shown).argParser(sizeBetween(least, most)));
  };
  const keep = (flags: string, description: string) =>
    command.addOption(option(flags, description).default(0, '0').argParser(parseKeep));
  const { least, most } = limits.BODY_LIMIT_BYTES;
  command.addOption(
    option('--host <address>', 'the address to listen on').default('0.0.0.0').argParser(notEmpty),
  );
  number('--port <n>', 'the port; 0 picks one', limits.PORT, 65_535);
  text('--venue <id>', 'accept only events of this venue_id', parseName);
  number('--rate-limit <n>', 'requests per second per address', limits.RATE_PER_S);
  const connections = limits.CONNECTIONS_PER_ADDRESS;
  number('--connections-per-address <n>', 'open at once; 0: no limit', connections, limits.CONNECTIONS);
  size('--body-limit <size>', 'the largest body', limits.BODY_BYTES, least, most);
  size('--min-free <size>', 'warn if less disk is free', limits.MIN_FREE_BYTES);
  keep('--keep <age>', 'delete older events; 0: never');
  keep('--keep-positions <age>', 'the same for PLAYER_POSITION');
  text('--quiet <from-to>', 'do not report silent cameras in these hours', parseQuietHours);
  size('--refused-bytes <size>', 'space for rejected requests', limits.REFUSED_BYTES);
  const level = option('--log-level <level>', 'debug, info, warn or error');
  command.addOption(level.choices(LOG_LEVELS).default('info'));
  text('--tls-cert <file>', 'a certificate for TLS; SIGHUP reads it again');
  text('--tls-key <file>', 'the private key of the certificate');
  command
    .addOption(runDir('where to write status.json and metrics.prom'))
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
