import type { Database } from 'better-sqlite3';
import type { Command } from 'commander';
import { OperatorError } from '../../base/operatorError.ts';
import { counted, isoTime } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import { haveDone, rulesOf } from '../../control/controlClient.ts';
import { DROP_PATH } from '../../control/workRoutes.ts';
import { type DataOption, withDatabase } from '../../store/db/openDatabase.ts';
import { readRecentKeys, storedLookup } from '../../store/read/storedKeys.ts';
import { bodyOf, newestRefused, type RefusedRequest, withRefused } from '../../store/refused/refusedFile.ts';
import { refusedLines } from '../../store/refused/refusedLines.ts';
import { integer, json, notEmpty, output, parsePeriod } from '../options/optionParsers.ts';
import {
  type JsonOption,
  outputSink,
  pairsText,
  printData,
  printJson,
  printText,
  say,
} from '../terminal/output.ts';

const EXPORT_HELP = `
A line is {"request_id", "index", "received_at", "faults", "event"}; a body that
is no JSON is a line with "body", as base64, instead of "event". Correct the
events and give the lines to "courtd import".

Examples:
  sudo courtd rejections export --source cam-3 -o rejected.ndjson
  jq -c 'if any(.faults[]; .path == "confidence")
    then .event.confidence /= 100 else . end' rejected.ndjson > corrected.ndjson
  sudo courtd import corrected.ndjson`;

export function define(command: Command): void {
  command
    .option('--last <n>', 'how many to show, the newest first', integer(1, 1_000_000), 50)
    .addOption(json())
    .addHelpText('after', "\nExample:\n  courtd rejections --last 1000 --json | jq -r '.[].error'")
    .action((_options, command) => list(command.optsWithGlobals()));
  command
    .command('show')
    .description('show one rejected request, and print its body as it came')
    .argument('<id>')
    .addHelpText('after', '\nExample:\n  courtd rejections show 8f1c2d3e-4b5a > body.json')
    .action((id, _options, command) => show(id, command.optsWithGlobals()));
  command
    .command('export')
    .description('write the events of rejected requests that are not stored, with the faults of each')
    .option('--source <name>', 'only of this source, or of this address if it is unknown', notEmpty)
    .addOption(output())
    .addHelpText('after', EXPORT_HELP)
    .action((_options, command) => exportEvents(command.optsWithGlobals()));
  command
    .command('drop')
    .description('delete rejected requests, with their events')
    .argument('[id...]')
    .option('--older-than <age>', 'only those of this age, such as 7d', parsePeriod)
    .option('--all', 'all rejected requests')
    .addHelpText('after', '\nExample:\n  sudo courtd rejections drop --older-than 7d')
    .action((ids: string[], { olderThan, all }, command) => {
      if ([ids.length > 0, olderThan !== undefined, all !== undefined].filter(Boolean).length !== 1)
        command.error('error: give ids, --older-than or --all.', { exitCode: 2 });
      return drop(ids, command.optsWithGlobals());
    });
}

/** @returns a request as `courtd rejections --json` prints it. */
function reportOf({ id, at_ms, client, status, code, source, court_id, events, error }: RefusedRequest) {
  return { id, at: isoTime(at_ms), client, status, code, source, court_id, events, error };
}

/** Reads `refused.db`, also without the daemon. @returns undefined if no request was ever rejected. */
function read<Result>(data: DataOption, work: (db: Database) => Result): Promise<Result | undefined> {
  // Root becomes the owner of the directory.
  return withDatabase(data, () => withRefused(data.data, work));
}

/** `courtd rejections`: the last rejected requests, newest first. */
async function list({ last, json, ...options }: DataOption & JsonOption & { last: number }): Promise<void> {
  const newest = (await read(options, (db) => newestRefused(db, last + 1))) ?? [];
  const found = newest.slice(0, last);
  if (json) return printJson(found.map(reportOf));
  if (found.length === 0) return say('No request was rejected.');
  printText(found.map(linesOf).join(''));
  if (newest.length > last) say(`There are more: "courtd rejections --last ${10 * last}".`);
}

/** Two lines, which fit a small screen: what and who, then why. */
function linesOf(request: RefusedRequest): string {
  const { id, at, client, status, code, source, court_id, events, error } = reportOf(request);
  const camera = source === null ? '' : `  ${source} on ${court_id ?? '?'}`;
  const many = events === null ? '' : `  ${counted(events, 'event')}`;
  const what = `${at}  ${id}  ${status} ${code}  ${client}${camera}${many}`;
  return `${visible(what)}\n    ${visible(error)}\n`;
}

/** `courtd rejections show ID`: what is known of one rejected request, and its body alone on standard output. */
async function show(id: string, options: DataOption): Promise<void> {
  const found = await read(options, (db) => {
    const request = newestRefused(db, -1).find((one) => one.id === id);
    return request && { ...reportOf(request), body: bodyOf(db, request) };
  });
  if (found === undefined) throw unknownId(id);
  if (found.body === undefined)
    throw new OperatorError(
      `The body of ${id} is damaged on the disk. "courtd rejections export" writes the others.`,
    );
  const size = found.body === null ? 'not kept' : counted(found.body.length, 'byte');
  const facts = Object.entries({ ...found, body: size });
  say(pairsText(facts.map(([name, value]) => [name, String(value ?? '-')])).trimEnd());
  if (found.body !== null) printData(process.stdout.isTTY ? `${found.body}\n` : found.body);
}

function unknownId(id: string): OperatorError {
  return new OperatorError(`There is no rejection ${JSON.stringify(id)}. "courtd rejections" shows them.`);
}

interface ExportOptions extends DataOption {
  readonly source?: string;
  readonly output?: string;
}

/** `courtd rejections export`: the events of kept bodies that are not stored, one per line. */
async function exportEvents({ data, source, output }: ExportOptions): Promise<void> {
  const rules = await rulesOf(data);
  const sink = outputSink(output);
  let events = 0;
  const requests = new Set<string>();
  await withDatabase({ data }, (db) =>
    withRefused(data, async (refused) => {
      readRecentKeys(db);
      const options = { sender: source ?? null, rules, isStored: storedLookup(db), onDamaged: sayDamaged };
      for (const { id, line } of refusedLines(refused, options)) {
        events++;
        requests.add(id);
        await sink.write(line);
      }
    }),
  );
  sink.commit();
  if (output !== undefined)
    say(`${counted(events, 'event')} of ${counted(requests.size, 'request')} written to ${output}.`);
  else if (events === 0) say('No matching events of rejected requests are waiting.');
}

/** The others are exported all the same. */
function sayDamaged(id: string): void {
  say(`The body of ${id} is damaged on the disk, and was left out.`);
  process.exitCode = 1;
}

/** `courtd rejections drop`. */
async function drop(
  ids: readonly string[],
  { data, olderThan }: DataOption & { readonly olderThan?: number },
): Promise<void> {
  const beforeMs = olderThan === undefined ? null : Date.now() - olderThan * 1_000;
  const which = ids.length > 0 ? { ids } : { beforeMs };
  const rejections = await haveDone<number>(data, DROP_PATH, which, () => {});
  if (ids.length > 0 && rejections === 0) throw unknownId(ids[0]!);
  say(`Deleted ${counted(rejections, 'rejection')}.`);
}
