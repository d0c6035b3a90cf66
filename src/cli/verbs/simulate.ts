import { type Command, InvalidArgumentError, Option } from 'commander';
import { PORT } from '../../base/limits.ts';
import { OperatorError, UsageError } from '../../base/operatorError.ts';
import { abortOnSignal } from '../../base/signals.ts';
import { counted } from '../../base/units.ts';
import { type RunOptions, runVenue } from '../../vendor/simulate/run.ts';
import { integer, notEmpty, option, parseDuration } from '../options/optionParsers.ts';
import { printText, say } from '../terminal/output.ts';

/** The longest delay of a timer in Node. */
const TIMER_MAX_MS = 2 ** 31 - 1;

const HELP = `
Each court has three cameras, which see a match of pickleball. One of all has a
wrong clock and one falls silent after 45 s; --clean leaves these out. Everybody
on this machine can see a token on the command line, and none in COURTD_TOKEN.

Examples:
  COURTD_TOKEN=$(sudo courtd token rotate) courtd simulate
  COURTD_TOKEN=... courtd simulate --url http://10.0.0.5:4000 --for 10m`;

interface SimulateOptions extends Omit<RunOptions, 'token' | 'clean'> {
  readonly token?: string;
  readonly clean?: boolean;
  /** Seconds; without it or 0, until a signal. */
  readonly for?: number;
}

export function define(command: Command): void {
  const box = `http://127.0.0.1:${PORT}`;
  command
    .addOption(new Option('--url <url>', 'the box').default(new URL(box), box).argParser(parseBox))
    .addOption(option('--token <token>', 'the token of the box').argParser(notEmpty))
    .option('--courts <n>', 'how many courts', integer(1, 100), 2)
    .option('--seed <n>', 'the same seed makes the same matches', integer(0, 1_000_000), 1)
    .option('--for <time>', 'end after this long, such as 2m; without it, at Ctrl-C', parseDuration)
    .option('--clean', 'leave out the cameras that misbehave')
    .addHelpText('after', HELP)
    .action(simulate);
}

function parseBox(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '')
    return url;
  throw new InvalidArgumentError('Give the address of a box, such as http://10.0.0.5:4000.');
}

/** A venue's cameras, until they are ended. @throws {OperatorError} if no event was stored. */
async function simulate({ token, clean = false, ...options }: SimulateOptions): Promise<void> {
  if (token === undefined) throw new UsageError('There is no token. Set the variable COURTD_TOKEN.');
  const ended = abortOnSignal(options.for ? Math.min(options.for * 1000, TIMER_MAX_MS) : undefined);
  const { requests, accepted, duplicates, refused, undelivered, session } = await runVenue(
    { ...options, token, clean },
    ended,
    (source, problem) => say(`courtd: ${source}: ${problem}`),
  );
  printText(
    `${counted(requests, 'request')}: ${counted(accepted, 'event')} stored, ${counted(duplicates, 'duplicate')}, ` +
      `${refused} rejected, ${undelivered} not delivered; the first court is session ${session}\n`,
  );
  if (accepted + duplicates === 0)
    throw new OperatorError(`No event was stored at ${options.url.origin}. Check the address and the token.`);
}
