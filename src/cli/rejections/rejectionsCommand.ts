import { type Command, InvalidArgumentError } from 'commander';
import { PROBLEMS } from '../../protocol/errors.ts';
import { integer, json, notEmpty, parsePeriod } from '../options/optionParsers.ts';
import { parseTimeOrAge, TIMES_HELP } from '../options/times.ts';

/** Rejections that `courtd rejections` lists, unless `--last` says otherwise. */
const REJECTIONS_LISTED = 50;

const HELP = `
At most 1,000 are kept, also over a restart. A flood of one kind pushes out
only older ones of its kind.

Examples:
  courtd rejections                       the newest ${REJECTIONS_LISTED}, newest first
  courtd rejections show 8f1c2d3e-4b5a    one of them, with its body
  courtd rejections --last 1000 --json | jq -r '.[].error'`;

const SHOW_HELP = `
A body is whole where it was refused for what it holds, and was not sent
before; else its first 16 KiB are kept. Without a valid token a body is never
read.

Example:
  courtd rejections show 8f1c2d3e-4b5a`;

const EXPORT_HELP = `
A line is {"request_id", "index", "received_at", "faults", "event"}: the event
as it was sent, with all that is wrong with it. The valid events of a refused
request are there too, as they are and with no faults. Mend the others and give
all lines to "courtd import"; what it stores is not exported again, and neither
is what the camera has sent again meanwhile. A body that is no JSON is a line
with "body", as base64, instead of "event". Of a damaged body only the id is
told; the exit status is then 1.

--source picks requests: by the source of the first invalid event.

${TIMES_HELP}

Examples:
  sudo courtd rejections export --source cam-3 -o refused.ndjson
  jq -c 'if any(.faults[]; .path == "confidence")
    then .event.confidence /= 100 else . end' refused.ndjson > mended.ndjson
  sudo courtd import mended.ndjson`;

const DROP_HELP = `
Takes them off the list, too. Asks where more than half of the events that wait
would go.

Example:
  sudo courtd rejections drop --older-than 7d`;

function parseCode(text: string): string {
  if (!Object.hasOwn(PROBLEMS, text))
    throw new InvalidArgumentError('"courtd rejections" shows the code of each request.');
  return text;
}

export function addRejections(program: Command): void {
  const rejections = program
    .command('rejections')
    .description('show the last refused requests, newest first: when, from which camera, and why')
    .option(
      '--last <n>',
      'how many to show; a number larger than there are shows all',
      integer(1, Number.MAX_SAFE_INTEGER),
      REJECTIONS_LISTED,
    )
    .addOption(json())
    .addHelpText('after', HELP)
    .action(async (_options, command) => (await import('./rejections.ts')).list(command.optsWithGlobals()));
  rejections
    .command('show')
    .description('show one refused request, with its body as received')
    .argument('<id>', 'the id that "courtd rejections" shows: the request_id in the answer to the client')
    .addOption(json())
    .addHelpText('after', SHOW_HELP)
    .action(async (id, _options, command) =>
      (await import('./rejections.ts')).show(id, command.optsWithGlobals()),
    );
  rejections
    .command('export')
    .description('write the events of refused requests that are not stored, with what is wrong with each')
    .option(
      '--source <name>',
      'only of requests of this source; where it could not be read: of this address',
      notEmpty,
    )
    .option('--code <code>', 'only of requests refused for this reason, such as invalid_event', parseCode)
    .option('--since <time>', 'only refused since this time, or within a period, such as 12h', parseTimeOrAge)
    .option('-o, --output <file>', 'the file to write, which appears when it is complete', notEmpty)
    .addHelpText('after', EXPORT_HELP)
    .action(async (_options, command) =>
      (await import('./refusedEvents.ts')).exportRefused(command.optsWithGlobals()),
    );
  rejections
    .command('drop')
    .description('let refused requests go, with the events in them')
    .option('--older-than <time>', 'refused longer ago than this: a number with s, m, h or d', parsePeriod)
    .option('--all', 'all of them')
    .option('--yes', 'also more than half of all that wait, without asking')
    .addOption(json())
    .addHelpText('after', DROP_HELP)
    .action(async ({ olderThan, all }, command) => {
      if ((olderThan === undefined) === (all === undefined))
        command.error('error: give either --older-than or --all.', { exitCode: 2 });
      await (await import('./refusedEvents.ts')).drop(command.optsWithGlobals());
    });
}
