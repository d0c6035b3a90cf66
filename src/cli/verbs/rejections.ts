import type { Command } from 'commander';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { fileSink } from '../../base/fileSink.ts';
import { REJECTIONS_KEPT } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import { rulesOf } from '../../control/eventRules.ts';
import { flushRefused, type RejectionReport, reportOf } from '../../control/rejectionRoutes.ts';
import { assertDaemonRuns, haveDone } from '../../control/workClient.ts';
import { DROP_PATH } from '../../control/workRoutes.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { withRefused } from '../../store/rejections/refusedBodies.ts';
import { refusedLines } from '../../store/rejections/refusedLines.ts';
import { StoredLookup } from '../../store/rejections/storedLookup.ts';
import { type Rejection, readRejections } from '../../store/rejections/storedRejections.ts';
import type { Age } from '../../store/retention/ageRule.ts';
import { integer, json, notEmpty, parsePeriod } from '../options/optionParsers.ts';
import { confirmed } from '../terminal/confirm.ts';
import {
  type JsonOption,
  printData,
  printJson,
  printPairs,
  printText,
  say,
  stdoutSink,
} from '../terminal/output.ts';

/** How many are listed, unless `--last` says otherwise. */
const REJECTIONS_LISTED = 50;

const EXPORT_HELP = `
A line is {"request_id", "index", "received_at", "faults", "event"}; a body that
is no JSON is a line with "body", as base64, instead of "event". Mend the events
and give all lines to "courtd import".

Examples:
  sudo courtd rejections export --source cam-3 -o rejected.ndjson
  jq -c 'if any(.faults[]; .path == "confidence")
    then .event.confidence /= 100 else . end' rejected.ndjson > mended.ndjson
  sudo courtd import mended.ndjson`;

export function define(command: Command): void {
  command
    .option(
      '--last <n>',
      'how many to show, the newest first',
      integer(1, Number.MAX_SAFE_INTEGER),
      REJECTIONS_LISTED,
    )
    .addOption(json())
    .addHelpText(
      'after',
      `\nExample:\n  courtd rejections --last ${REJECTIONS_KEPT} --json | jq -r '.[].error'`,
    )
    .action((_options, command) => list(command.optsWithGlobals()));
  command
    .command('show')
    .description('show one rejected request, with its body as it came')
    .argument('<id>', 'the id that "courtd rejections" shows: the request_id of the answer')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  courtd rejections show 8f1c2d3e-4b5a')
    .action((id, _options, command) => show(id, command.optsWithGlobals()));
  command
    .command('export')
    .description('write the events of rejected requests that are not stored, with the faults of each')
    .option('--source <name>', 'only of this source, or of this address if the source is not known', notEmpty)
    .option('-o, --output <file>', 'the file to write, which appears when it is complete', notEmpty)
    .addHelpText('after', EXPORT_HELP)
    .action((_options, command) => exportEvents(command.optsWithGlobals()));
  command
    .command('drop')
    .description('delete rejected requests, with their events')
    .option('--older-than <age>', 'only those rejected longer ago: a number with s, m, h or d', parsePeriod)
    .option('--all', 'all of them')
    .option('--yes', 'delete without asking')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  sudo courtd rejections drop --older-than 7d')
    .action(({ olderThan, all }, command) => {
      if ((olderThan === undefined) === (all === undefined))
        command.error('error: give either --older-than or --all.', { exitCode: 2 });
      return drop(command.optsWithGlobals());
    });
}

/** `courtd rejections`: the last rejected requests, newest first. */
async function list({
  data,
  json,
  last,
}: DataOption & JsonOption & { readonly last: number }): Promise<void> {
  const found = (await readAll(data)).slice(0, last).map(reportOf);
  if (json) return printJson(found);
  if (found.length === 0) return say('No request was rejected.');
  printText(found.map(linesOf).join(''));
  if (found.length === last && last < REJECTIONS_KEPT)
    say(`There may be more. "courtd rejections --last ${REJECTIONS_KEPT}" shows them.`);
}

/** @returns the newest first. */
async function readAll(data: DataDirectory): Promise<Rejection[]> {
  return await withDatabase({ data }, async (db) => {
    // Also where root becomes the owner of the directory, who may ask there.
    await flush(data);
    return readRejections(db).reverse();
  });
}

/** Two lines, which fit a small screen: what and who, then why. */
function linesOf({ id, at, client, status, code, source, court_id, events, error }: RejectionReport): string {
  const camera = source === null ? '' : `  ${source} on ${court_id ?? '?'}`;
  const many = events === null ? '' : `  ${counted(events, 'event')}`;
  const what = `${at}  ${id}  ${status} ${code}  ${client}${camera}${many}`;
  return `${visible(what)}\n    ${visible(error)}\n`;
}

/** `courtd rejections show ID`: one of them, with its body. */
async function show(id: string, { data, json }: DataOption & JsonOption): Promise<void> {
  const found = (await readAll(data)).find((one) => one.id === id);
  if (found === undefined)
    throw new OperatorError(`There is no rejection ${JSON.stringify(id)}. "courtd rejections" shows them.`);
  const whole = (await withRefused(data, (bodies) => bodies.find(id)))?.bytes;
  const body = whole ?? found.body;
  const body_bytes = whole?.length ?? found.bodyBytes;
  const text = body === null ? null : textOf(body);
  if (json) {
    const body_base64 = text === null ? (body?.toString('base64') ?? null) : null;
    return printJson({ ...reportOf(found), body: text, body_base64, body_bytes });
  }
  const { request_id: _same, ...shown } = reportOf(found);
  printPairs(
    Object.entries({ ...shown, body: sizeOf(body, body_bytes) }).map(([name, value]) => [
      name,
      value === null ? '-' : String(value),
    ]),
  );
  if (body === null) return;
  printData('\n');
  printData(process.stdout.isTTY ? (text ?? body.toString('latin1')) : body);
  printData('\n');
}

function sizeOf(body: Buffer | null, bodyBytes: number | null): string {
  if (bodyBytes === null) return 'not read';
  if (body === null) return `${counted(bodyBytes, 'byte')}, not kept`;
  return body.length < bodyBytes
    ? `the first ${body.length} of ${counted(bodyBytes, 'byte')}`
    : counted(bodyBytes, 'byte');
}

/** @returns the text of a body, which may be cut within a character; null if it is not UTF-8. */
function textOf(body: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body, { stream: true });
  } catch {
    return null;
  }
}

interface ExportOptions extends DataOption {
  readonly source?: string;
  readonly output?: string;
}

/** `courtd rejections export`: the events of kept bodies that are not stored, one per line. */
async function exportEvents({ data, source, output }: ExportOptions): Promise<void> {
  const rules = await rulesOf(data);
  await withDatabase({ data }, async (db) => {
    await flush(data);
    const sink = output === undefined ? stdoutSink() : fileSink(output);
    let [events, requests] = [0, 0];
    await withRefused(data, async (refused) => {
      const stored = new StoredLookup(db);
      stored.readNewest();
      for (const body of refused.bodies({ sender: source }, sayDamaged)) {
        const { lines, done } = refusedLines(body, rules, stored);
        refused.tickOffStored(done);
        if (lines.length > 0) requests++;
        events += lines.length;
        for (const line of lines) await sink.write(line);
      }
    });
    sink.commit();
    if (output !== undefined)
      say(`${counted(events, 'event')} of ${counted(requests, 'request')} written to ${output}.`);
    else if (events === 0) say('No matching events of rejected requests are waiting.');
  });
}

/** If the daemon does not do that, the rest is shown all the same. */
async function flush(data: DataDirectory): Promise<void> {
  try {
    await flushRefused(data);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    say(`${error.message} The newest rejections may be missing here.`);
    process.exitCode = 1;
  }
}

/** The others are exported all the same. */
function sayDamaged(requestId: string): void {
  say(`The body of ${requestId} is damaged on the disk, and was left out.`);
  process.exitCode = 1;
}

interface DropOptions extends DataOption, JsonOption {
  /** Seconds; absent with `all`. */
  readonly olderThan?: number;
  readonly yes?: boolean;
}

/** `courtd rejections drop`. */
async function drop({ data, olderThan, yes, json }: DropOptions): Promise<void> {
  const nowMs = Date.now();
  const age: Age =
    olderThan === undefined
      ? { beforeMs: Number.MAX_SAFE_INTEGER, nowMs: Number.MAX_SAFE_INTEGER - 1 }
      : { beforeMs: nowMs - olderThan * 1_000, nowMs };
  await assertDaemonRuns(data);
  await withRefused(data, async (refused) => {
    const events = refused.waitingIn(refused.older(age));
    const of = refused.waiting().reduce((sum, one) => sum + one.events, 0);
    if (yes === true || 2 * events <= of) return;
    const what = `${events} of ${counted(of, 'event')} that are stored nowhere else would be deleted`;
    await confirmed(what, 'Delete them?', 'nothing was deleted');
  });
  const rejections = await haveDone<never, number>(data, DROP_PATH, age, () => {});
  const { bodies = 0, events = 0 } =
    (await withRefused(data, (refused) => {
      const ids = refused.older(age);
      refused.remove(ids);
      return { bodies: ids.length, events: refused.letGo };
    })) ?? {};
  if (json) return printJson({ rejections, refused_bodies: bodies, events });
  const kept = counted(bodies, 'body', 'bodies');
  say(`Deleted ${counted(rejections, 'rejection')} and ${kept} with ${counted(events, 'event')}.`);
}
