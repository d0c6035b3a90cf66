import { Command, CommanderError } from 'commander';
import { DataDirectory } from '../base/dataDirectory.ts';
import { OperatorError, UsageError } from '../base/operatorError.ts';
import { isActing } from '../base/processIdentity.ts';
import { courtdVersion } from '../base/version.ts';
import { visibleLines } from '../base/visibleText.ts';
import { addAlert } from './alert/alertCommand.ts';
import { addBackup } from './backup.ts';
import { addCheck } from './check.ts';
import { addConflicts } from './conflicts/conflictsCommand.ts';
import { addConformance } from './conformance/conformanceCommand.ts';
import { addEvent } from './event.ts';
import { addExport } from './export/exportCommand.ts';
import { addFleet } from './fleet/fleetCommand.ts';
import { addImport } from './import/importCommand.ts';
import { addMetrics } from './metrics.ts';
import { addOpenapi } from './openapi.ts';
import { dropEmptyVariables, warnOfUnknownVariables } from './options/environmentVariables.ts';
import { addHelp, addVersion } from './options/helpCommand.ts';
import { takeIdentity } from './options/identity.ts';
import { notEmpty, option } from './options/optionParsers.ts';
import { addPlayer } from './player/playerCommand.ts';
import { addPrune } from './prune/pruneCommand.ts';
import { addRebuild } from './rebuild/rebuildCommand.ts';
import { addRejections } from './rejections/rejectionsCommand.ts';
import { addReport } from './report.ts';
import { addRestore } from './restore/restoreCommand.ts';
import { addServe } from './serve/serveCommand.ts';
import { addSession } from './session/sessionCommand.ts';
import { addShip } from './ship/shipCommand.ts';
import { addSimulate } from './simulate/simulateCommand.ts';
import { addStatus } from './status/statusCommand.ts';
import { addSupport } from './support/supportCommand.ts';
import { addTail } from './tail/tailCommand.ts';
import { endQuietlyOnBrokenPipe, say } from './terminal/output.ts';
import { addToken } from './token/tokenCommand.ts';

/**
 * Every verb, in the order of `--help`. A small one is a file; the folder of a larger one has its definition in `<verb>Command.ts`.
 * The definition is always loaded and so imports little, and the rest when the verb runs.
 */
const VERBS = [
  addServe,
  addStatus,
  addRejections,
  addConflicts,
  addToken,
  addSession,
  addEvent,
  addTail,
  addExport,
  addReport,
  addPlayer,
  addImport,
  addBackup,
  addRestore,
  addRebuild,
  addPrune,
  addShip,
  addAlert,
  addCheck,
  addMetrics,
  addSupport,
  addOpenapi,
  addFleet,
  addSimulate,
  addConformance,
];

/** @returns the program `courtd` with all its commands. */
export function makeProgram(): Command {
  const version = courtdVersion();
  const program: Command = new Command('courtd')
    .description('The box in a sports venue that court cameras send their events to.')
    .version(version)
    .addOption(
      option('--data <dir>', 'the data directory')
        .default(new DataDirectory('/var/lib/courtd'))
        .argParser((text) => new DataDirectory(notEmpty(text))),
    )
    .configureHelp({
      showGlobalOptions: true,
      // Not those of a verb between: `rejections show` has no --last.
      visibleGlobalOptions: (command) => (command === program ? [] : [...program.options]),
    })
    .exitOverride()
    // To every command that writes a file, `-o -` is what it is without -o: standard output.
    .hook('preAction', (program, command) => {
      if (command.getOptionValue('output') === '-') command.setOptionValue('output', undefined);
      return takeIdentity(program, command);
    });
  for (const addVerb of VERBS) addVerb(program);
  addVersion(program, version);
  addHelp(program);
  tellFaults(program, program.name());
  return program;
}

/** What commander says of these has no advice. */
const WITHOUT_ADVICE =
  /^error: (missing required argument|unknown |too many arguments|required option|option '.*' argument missing)/;

/** @param name of the command, such as `courtd token rotate`. */
function tellFaults(command: Command, name: string): void {
  const toSentence = (text: string) => {
    const sentence = text
      .replace(
        /^error: command-argument value ('.*') is invalid for argument '(.*?)'/s,
        'error: argument <$2> $1 is invalid',
      )
      .replace(/^error/, 'courtd');
    if (!WITHOUT_ADVICE.test(text) || text.includes('(Did you mean')) return sentence;
    // An id made of base64url begins with "-" once in 64 times.
    const isName = command.registeredArguments.length > 0 && /^error: unknown option '-[^-]/.test(text);
    const advice = isName ? ' A name that begins with "-" goes behind "--", and options before it.' : '';
    return `${sentence.replace(/\.?\n$/, '.')}${advice} "${name} --help" shows what it takes.\n`;
  };
  command.configureOutput({ outputError: (text, write) => write(visibleLines(toSentence(text))) });
  for (const child of command.commands) tellFaults(child, `${name} ${child.name()}`);
}

/** Runs one command and sets the exit status: 0, 1 (failed) or 2 (wrong usage). A stack trace is never printed. */
export async function runProgram(program: Command, args: readonly string[]): Promise<void> {
  endQuietlyOnBrokenPipe();
  dropEmptyVariables();
  warnOfUnknownVariables(program);
  try {
    await program.parseAsync(args, { from: 'user' });
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
  const { code, message = error } = error as Partial<NodeJS.ErrnoException>;
  if (isActing() && /^(?:ERR_)?MODULE_NOT_FOUND$/.test(code ?? '')) {
    say(
      `courtd: root works as the owner of the data directory, user ${process.geteuid?.()}, who cannot read this program: keep it where everyone may, such as /opt.`,
    );
    return 1;
  }
  say(`courtd: this is a bug in courtd, please report it: ${message}`);
  return 1;
}
