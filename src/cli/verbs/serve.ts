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

export function define(command: Command): void {
  command
    .description('run the daemon: takes events on POST /v1/events, logs JSON lines to standard output')
    .addOption(option('--host <address>', 'the address to listen on').default('0.0.0.0').argParser(notEmpty))
    .addOption(option('--port <number>', 'the port; 0 picks one').default(PORT).argParser(integer(0, 65_535)))
    .addOption(option('--venue <id>', 'accept events of this venue_id only').argParser(parseName))
    .addOption(
      option('--rate-limit <number>', 'requests a second from one client address; 0 turns it off')
        .default(RATE_PER_S)
        .argParser(integer(0, RATE_LIMIT_MAX_PER_S)),
    )
    .addOption(
      option(
        '--connections-per-address <number>',
        'open connections of one client address; 0 turns it off, for a proxy in front',
      )
        .default(CONNECTIONS_PER_ADDRESS)
        .argParser(integer(0, CONNECTIONS)),
    )
    .addOption(
      option('--body-limit <size>', 'the largest body, both as sent and as decoded')
        .default(BODY_BYTES, '8MiB')
        .argParser(sizeBetween(BODY_LIMIT_BYTES.least, BODY_LIMIT_BYTES.most)),
    )
    .addOption(
      option('--min-free <size>', 'free disk space below which the log warns; 0 turns it off')
        .default(MIN_FREE_BYTES, '1GiB')
        .argParser(parseSize),
    )
    .addOption(keep('--keep <age>', 'how long events are kept, such as 365d; 0 is for ever'))
    .addOption(keep('--keep-positions <age>', 'how long player positions are kept, such as 30d'))
    .addOption(
      option(
        '--quiet <from-to>',
        'do not report silent cameras during these hours (local time), such as 23:00-07:00',
      ).argParser(parseQuietHours),
    )
    .addOption(
      option('--refused-bytes <size>', 'bodies of refused requests that are kept, in all; 0 keeps none')
        .default(REFUSED_BYTES, '256MiB')
        .argParser(parseSize),
    )
    .addOption(option('--log-level <level>', 'how much to log').choices(LOG_LEVELS).default('info'))
    .addOption(
      option('--tls-cert <file>', 'serve TLS with this certificate, in PEM; SIGHUP reads it again').argParser(
        notEmpty,
      ),
    )
    .addOption(option('--tls-key <file>', "the certificate's private key, in PEM").argParser(notEmpty))
    .addOption(runDir('write status.json and metrics.prom to this directory every 15 s'))
    .addHelpText(
      'after',
      '\nExamples:\n  courtd serve --data ./data --host 127.0.0.1 --port 4001\n  COURTD_DATA=./data COURTD_VENUE=venue-17 courtd serve',
    )
    .action(async ({ tlsCert, tlsKey }, command) => {
      if ((tlsCert === undefined) !== (tlsKey === undefined)) {
        const message =
          '--tls-cert and --tls-key (COURTD_TLS_CERT, COURTD_TLS_KEY) go together: give both or neither.';
        command.error(`error: ${message}`, { exitCode: 2 });
      }
      // Loading the server takes most of a start, and an unhandled SIGHUP would end the process. serve() handles it later.
      process.on('SIGHUP', () => {});
      const given = ['host', 'port'].filter((name) => command.getOptionValueSource(name) !== 'default');
      await (await import('./runDaemon.ts')).serve({ ...command.optsWithGlobals(), given });
    });
}
