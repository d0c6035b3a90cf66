import { type Command, InvalidArgumentError, Option } from 'commander';
import { PORT } from '../../base/limits.ts';
import { integer, notEmpty, option, parseDuration } from '../options/optionParsers.ts';

/** Events a second: more than a box takes, or this program makes. */
const RATE_MAX = 200_000;
/** The longest delay of a timer in Node. */
const LENGTH_MAX_S = 24 * 86_400;

const HELP = `
Each court has three cameras: one for positions, 10 a second; one for hits and
bounces, which it confirms a moment later; one for speeds. Some events come
twice, late or out of order. One camera's clock is wrong, one falls silent
after 45 s, one forgets to raise revision, and on a second court one sends
speeds as text; --clean leaves these out.
The summary at the end has the rate that was reached, and how long requests
took: with --rate, and enough courts, it shows how much a box takes.

Every user of this machine can see a token on the command line (ps), and not
one in COURTD_TOKEN.

Examples:
  COURTD_TOKEN=$(sudo courtd token rotate) courtd simulate
  COURTD_TOKEN=... courtd simulate --url http://10.0.0.5:4000 --for 10m
  COURTD_TOKEN=... courtd simulate --courts 16 --rate 50000 --clean --for 1m
  courtd simulate --sport tennis --print | courtd import --dry-run -`;

export function addSimulate(program: Command): void {
  program
    .command('simulate')
    .description("simulate a venue's cameras, to try out a box before any camera is mounted")
    .addOption(
      new Option('--url <url>', 'the box')
        .default(new URL(`http://127.0.0.1:${PORT}`), `http://127.0.0.1:${PORT}`)
        .argParser(parseBox),
    )
    .addOption(option('--token <token>', "the box's token").argParser(notEmpty))
    .option('--courts <n>', 'courts, each with three cameras', integer(1, 100), 2)
    .addOption(
      new Option('--sport <sport>', 'what is played: shots, speeds and the court are those of the sport')
        .choices(['pickleball', 'badminton', 'tennis', 'padel'])
        .default('pickleball'),
    )
    .option(
      '--rate <n>',
      'events a second of the whole venue: its matches are played faster or slower (default: as fast as real ones)',
      integer(1, RATE_MAX),
    )
    .option('--seed <n>', 'the same seed makes the same matches, ids included', integer(0, 1_000_000), 1)
    .option('--for <time>', 'end after this long, such as 2m; without it, at Ctrl-C', parseLength)
    .option('--clean', 'leave out the cameras that misbehave')
    .addOption(
      new Option('--print [n]', 'print n events as NDJSON, 100 by default, and send nothing')
        .preset('100')
        .argParser(integer(1, 1_000_000)),
    )
    .addHelpText('after', HELP)
    .action(async (options) =>
      (await import('./simulate.ts')).simulate({ ...options, clean: options.clean === true }),
    );
}

function parseBox(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '')
    return url;
  throw new InvalidArgumentError('Give the address of a box, such as http://10.0.0.5:4000.');
}

function parseLength(text: string): number {
  const seconds = /^\d+[smhd]$/.test(text) ? parseDuration(text) : 0;
  if (seconds > 0 && seconds <= LENGTH_MAX_S) return seconds;
  throw new InvalidArgumentError('Give a whole number with s, m, h or d, from 1s to 24d.');
}
