import { Command, CommanderError } from 'commander';
import { DataDirectory } from '../base/dataDirectory.ts';
import { OperatorError, UsageError } from '../base/operatorError.ts';
import { courtdVersion } from '../base/version.ts';
import { visibleLines } from '../base/visibleText.ts';
import { dropEmptyVariables, warnOfUnknownVariables } from './options/environmentVariables.ts';
import { notEmpty, option } from './options/optionParsers.ts';
import { endQuietlyOnBrokenPipe, hints, say } from './terminal/output.ts';

/** The file of a verb: `define` adds its arguments, options and action. `loadAll` defines all other verbs, too. */
interface VerbFile {
  define(command: Command, loadAll: () => Promise<Command>): void | Promise<void>;
}
type Verb = readonly [description: string, load: () => Promise<VerbFile>];

/** Every verb by its help group, in the order of `--help`. The file of a verb is loaded only if the verb is called. */
const VERBS: Readonly<Record<string, Readonly<Record<string, Verb>>>> = {
  'Every day:': {
    status: [
      'show how the box is: problems with advice, then every camera',
      () => import('./verbs/status.ts'),
    ],
    tail: ['show events as they arrive', () => import('./verbs/tail.ts')],
    session: ['list the sessions, or show one', () => import('./verbs/session.ts')],
    event: ['show every revision of one event', () => import('./verbs/event.ts')],
    export: ['export sessions as CSV, NDJSON, XLSX or Parquet', () => import('./verbs/export.ts')],
    report: ['write a report of a session as one HTML page', () => import('./verbs/report.ts')],
  },
  'Set up:': {
    serve: ['run the daemon', () => import('./verbs/serve.ts')],
    token: ['make, list and revoke the tokens of the venue', () => import('./verbs/token.ts')],
    check: ['check the settings and the machine, with advice', () => import('./verbs/check.ts')],
    backup: ['copy the database while the daemon runs', () => import('./verbs/backup.ts')],
    restore: ['replace the database with a backup or a copy', () => import('./verbs/restore.ts')],
    prune: ['delete old events, or a session', () => import('./verbs/prune.ts')],
  },
  'When something was rejected:': {
    rejections: ['show rejected requests, and get their events back', () => import('./verbs/rejections.ts')],
    conflicts: ['show events that came again with other content', () => import('./verbs/conflicts.ts')],
    import: ['store the events of files, each once', () => import('./verbs/import.ts')],
  },
  'Players:': {
    player: ['list, export or erase players', () => import('./verbs/player.ts')],
  },
  'Elsewhere:': {
    ship: ['ship the events to headquarters', () => import('./verbs/ship.ts')],
    fleet: ['set up headquarters, and see every box there', () => import('./verbs/fleet.ts')],
    alert: ['report new problems to a webhook or a command', () => import('./verbs/alert.ts')],
    metrics: ['print the metrics as Prometheus text', () => import('./verbs/metrics.ts')],
    support: ['write one text file for support', () => import('./verbs/support.ts')],
  },
  'For camera vendors:': {
    openapi: ['print the OpenAPI document of POST /v1/events', () => import('./verbs/openapi.ts')],
    simulate: ["simulate a venue's cameras", () => import('./verbs/simulate.ts')],
    conformance: ['test a camera that sends to it', () => import('./verbs/conformance.ts')],
  },
};

/** Behind the list of commands, in the place of options that all of them take. */
const EVERY_COMMAND = '\n"courtd help COMMAND" shows its options, "courtd --version" the version.';

/** Choices are shown up to this length; the error about a wrong one lists all. */
const CHOICES_CHARS = 30;

const notLoaded = new WeakMap<Command, Verb[1]>();

/** @returns the program `courtd` with the name and the description of each verb; `loadVerbs` defines them. */
export function makeProgram(): Command {
  const data = option('--data <dir>', 'the data directory')
    .default(new DataDirectory('/var/lib/courtd'))
    .argParser((text) => new DataDirectory(notEmpty(text)));
  const program: Command = new Command('courtd')
    .usage('<command> [options]')
    .version(courtdVersion(), undefined, 'print the version')
    .addOption(data)
    .addHelpText('after', EVERY_COMMAND)
    // A screen has 24 lines: no command lists --help, which has brought the reader here.
    .configureHelp({
      visibleCommands: ({ commands }) => [...commands],
      subcommandTerm: (command) => command.name(),
      visibleOptions: ({ parent, options, commands }) =>
        parent === null || (commands.length > 0 && options.length === 0) ? [] : [...options, data],
      // The variable has the name of the option.
      optionDescription: ({ description, defaultValueDescription, defaultValue, argChoices = [] }) => {
        const usual = defaultValueDescription ?? defaultValue;
        const choices = argChoices.join(', ');
        const notes = [
          ...(choices === '' || choices.length > CHOICES_CHARS ? [] : [choices]),
          ...(usual === undefined ? [] : [`default: ${usual}`]),
        ];
        return notes.length === 0 ? description : `${description} (${notes.join('; ')})`;
      },
    })
    .configureOutput({
      outputError: (text, write) =>
        write(
          visibleLines(
            text
              .replace(/^error/, 'courtd')
              .replace(/([^.)])\n$/, '$1.\n')
              // An id made of base64url begins with "-" once in 64 times.
              .replace(/(option '-\w[^,]{4,})\n$/, '$1 A name that begins with "-" needs "--" before it.\n'),
          ),
        ),
    })
    .showHelpAfterError('"courtd --help" lists the commands.')
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride()
    // To every command that writes a file, `-o -` is what it is without -o: standard output.
    .hook('preAction', (program, command) => {
      if (command.getOptionValue('output') === '-') command.setOptionValue('output', undefined);
      const isGiven = program.getOptionValueSource('data') === 'cli';
      hints.data = isGiven ? `${program.getOptionValue('data')}` : undefined;
    });
  for (const [group, verbs] of Object.entries(VERBS)) {
    for (const [name, [description, load]] of Object.entries(verbs)) {
      const command = program.command(name).helpGroup(group).description(description);
      notLoaded.set(command, load);
    }
  }
  return program;
}

/** Loads the files of verbs. @param names of the verbs; all if undefined. */
export async function loadVerbs(program: Command, names?: readonly string[]): Promise<Command> {
  for (const command of program.commands) {
    const load = notLoaded.get(command);
    if (load === undefined || names?.includes(command.name()) === false) continue;
    notLoaded.delete(command);
    const { define } = await load();
    await define(command, () => loadVerbs(program));
    adviseHelp(command, `courtd ${command.name()}`);
  }
  return program;
}

/** @param name of the command, such as `courtd token rotate`. */
function adviseHelp(command: Command, name: string): void {
  command.showHelpAfterError(`Run "${name} --help" to see its options.`);
  for (const child of command.commands) adviseHelp(child, `${name} ${child.name()}`);
}

/** Runs one command and sets the exit status: 0, 1 (failed) or 2 (wrong usage). A stack trace is never printed. */
export async function runProgram(program: Command, args: readonly string[]): Promise<void> {
  endQuietlyOnBrokenPipe();
  dropEmptyVariables();
  warnOfUnknownVariables();
  try {
    // Every argument that may be the verb, also that of `help`.
    await loadVerbs(program, args);
    const [first, named] = args;
    const isKnown = named === undefined || program.commands.some((command) => command.name() === named);
    // commander answers `help` for an unknown command with the list alone; the command itself is reported.
    const asked = first === 'help' && !isKnown ? args.slice(1) : args;
    await program.parseAsync(asked, { from: 'user' });
  } catch (error) {
    process.exitCode = report(error);
    if (process.exitCode === 2 && process.env.NOTIFY_SOCKET) {
      const { message } = error as CommanderError | UsageError;
      await (await import('../host/systemdNotify.ts')).tellFailure(message.replace(/^error: /, ''));
    }
  }
}

/** @returns the exit status. */
function report(error: unknown): number {
  // commander has already printed the fault, or the help that was asked for.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof OperatorError) {
    say(`courtd: ${error.message}`);
    return error instanceof UsageError ? 2 : 1;
  }
  const { message = error } = error as Partial<Error>;
  say(`courtd: this is a bug in courtd, please report it: ${message}`);
  return 1;
}
