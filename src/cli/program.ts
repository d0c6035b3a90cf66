import fs from 'node:fs';
import { Argument, Command, CommanderError, Option } from 'commander';
import {
  BODY_BYTES,
  BODY_LIMIT_BYTES,
  CONNECTIONS,
  CONNECTIONS_PER_ADDRESS,
  MIN_FREE_BYTES,
  PORT,
  RATE_LIMIT_MAX_PER_S,
  RATE_PER_S,
  SESSIONS_LISTED_MAX,
  TOKEN_GRACE_S,
} from '../base/limits.ts';
import { OperatorError } from '../base/operatorError.ts';
import { visibleLines } from '../base/visibleText.ts';
import { LOG_LEVELS } from '../host/logLevels.ts';
import { addExport } from './export/exportCommand.ts';
import { addKeeping } from './maintenanceCommands.ts';
import { dropEmptyVariables, warnOfUnknownVariables } from './options/environmentVariables.ts';
import { addHelp, addVersion } from './options/helpCommand.ts';
import {
  integer,
  json,
  notEmpty,
  option,
  parseDuration,
  parseName,
  parseSize,
  sizeBetween,
} from './options/optionParsers.ts';
import { endQuietlyOnBrokenPipe, say } from './terminal/output.ts';

/** Every command of courtd, its arguments and its help. A verb's module is loaded when it is called. */
export function makeProgram(): Command {
  const { version } = JSON.parse(fs.readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const program = new Command('courtd')
    .description('The box in a sports venue that court cameras send their events to.')
    .version(version)
    .addOption(option('--data <dir>', 'the data directory').default('/var/lib/courtd').argParser(notEmpty))
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (text, write) => write(visibleLines(text.replace(/^error: /, 'courtd: '))),
    })
    .exitOverride();
  addServe(program);
  addToken(program);
  addSession(program);
  addEvent(program);
  addExport(program);
  addKeeping(program);
  addVersion(program, version);
  addHelp(program);
  return program;
}

/**
 * Runs one command and sets the exit status: 0, 1 (failed) or 2 (used wrongly). What can be foreseen is told in a
 * sentence, never in a stack trace.
 */
export async function runProgram(program: Command, args: readonly string[]): Promise<void> {
  endQuietlyOnBrokenPipe();
  dropEmptyVariables();
  warnOfUnknownVariables(program);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = report(error);
    if (process.exitCode === 2 && process.env.NOTIFY_SOCKET) {
      const { message } = error as CommanderError;
      await (await import('../host/systemdNotify.ts')).tellFailure(message.replace(/^error: /, ''));
    }
  }
}

/** @returns the exit status. */
function report(error: unknown): number {
  // commander has already said what was wrong, or shown the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof OperatorError) {
    say(`courtd: ${error.message}`);
  } else {
    say(
      `courtd: this is a fault of courtd, please report it: ${error instanceof Error ? error.message : error}`,
    );
  }
  return 1;
}

function addServe(program: Command): void {
  program
    .command('serve')
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
      option('--body-limit <size>', 'the largest body, as sent and as decoded')
        .default(BODY_BYTES, '8MiB')
        .argParser(sizeBetween(BODY_LIMIT_BYTES.least, BODY_LIMIT_BYTES.most)),
    )
    .addOption(
      option('--min-free <size>', 'free space on the disk below which the log warns; 0 turns it off')
        .default(MIN_FREE_BYTES, '1GiB')
        .argParser(parseSize),
    )
    .addOption(option('--log-level <level>', 'how much to log').choices(LOG_LEVELS).default('info'))
    .addOption(
      option('--tls-cert <file>', 'speak TLS with this certificate, in PEM; SIGHUP reads it again').argParser(
        notEmpty,
      ),
    )
    .addOption(option('--tls-key <file>', 'its private key, in PEM').argParser(notEmpty))
    .action(async ({ tlsCert, tlsKey }, command) => {
      if ((tlsCert === undefined) !== (tlsKey === undefined)) {
        const message =
          '--tls-cert and --tls-key (COURTD_TLS_CERT, COURTD_TLS_KEY) go together: give both or neither.';
        command.error(`error: ${message}`, { exitCode: 2 });
      }
      // Most of a start is reading the rest of the program: from here on SIGHUP ends nothing (cli/serve.ts has what it does).
      process.on('SIGHUP', () => {});
      const given = ['host', 'port'].filter((name) => command.getOptionValueSource(name) !== 'default');
      await (await import('./serve.ts')).serve({ ...command.optsWithGlobals(), given });
    });
}

function addToken(program: Command): void {
  const token = program.command('token').description("the venue's shared bearer token");
  token
    .command('rotate')
    .description('make a new token and print it; the older ones go on working until the grace ends')
    .addOption(
      new Option(
        '--grace <time>',
        'how long the older tokens go on working: 0, or a number with s, m, h or d',
      )
        .default(TOKEN_GRACE_S, '24h')
        .argParser(parseDuration),
    )
    .action(async (_options, command) => (await import('./token.ts')).rotate(command.optsWithGlobals()));
  token
    .command('list')
    .description('show the tokens: their state and last use, never the secret')
    .addOption(json())
    .action(async (_options, command) => (await import('./token.ts')).list(command.optsWithGlobals()));
  token
    .command('revoke')
    .description('end a token at once')
    .addArgument(
      new Argument('<id>', 'as "courtd token list" shows it').argParser(integer(1, Number.MAX_SAFE_INTEGER)),
    )
    .action(async (id, _options, command) =>
      (await import('./token.ts')).revoke(id, command.optsWithGlobals()),
    );
}

function addSession(program: Command): void {
  const session = program.command('session').description('what has been stored of each session');
  session
    .command('list')
    .description('show every session, first the one whose first event came last')
    .addOption(new Option('--last <n>', 'only the newest n').argParser(integer(1, SESSIONS_LISTED_MAX)))
    .addOption(json())
    .action(async (_options, command) => (await import('./session.ts')).list(command.optsWithGlobals()));
  session
    .command('show')
    .description('show one session: events by type and court, revisions, duplicates, conflicts, lateness')
    .argument('<session>', 'the session_id')
    .addOption(json())
    .action(async (name, _options, command) =>
      (await import('./session.ts')).show(name, command.optsWithGlobals()),
    );
}

function addEvent(program: Command): void {
  const event = program.command('event').description('single events');
  event
    .command('show')
    .description('show every revision of one event')
    .argument('<session>', 'the session_id')
    .argument('<event>', 'the event_id')
    .addOption(json())
    .action(async (session, id, _options, command) =>
      (await import('./event.ts')).show(session, id, command.optsWithGlobals()),
    );
}
