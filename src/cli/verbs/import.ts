import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { type HttpAnswer, requestAnswer } from '../../base/httpAnswer.ts';
import { membersOf } from '../../base/json.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import { assertDaemonRuns, rulesOf } from '../../control/controlClient.ts';
import type { EventRules } from '../../protocol/validate.ts';
import { type FileEvent, readEvents } from '../../session/import/eventFile.ts';
import { FileFault } from '../../session/import/fileBytes.ts';
import type { DataOption } from '../../store/db/openDatabase.ts';
import { json, notEmpty } from '../options/optionParsers.ts';
import { type JsonOption, printJson, progress, say } from '../terminal/output.ts';

const HELP = `
A line is one event, as a camera sends it, an export writes it, or "courtd tail
--json" and "courtd rejections export" print it. The time of receipt is that of
the import. An event that is stored already is not stored again, so a file can
be imported again.

Examples:
  courtd import --dry-run session-7.ndjson.gz
  ssh old-box courtd export session-7 --format ndjson | courtd import -`;

export function define(command: Command): void {
  const toList = (file: string, files: string[] = []) => [...files, notEmpty(file)];
  command
    .argument('<file...>', 'NDJSON, plain or gzip; - is standard input', toList)
    .option('--dry-run', 'check every line and store nothing')
    .addOption(json())
    .addHelpText('after', HELP)
    .action((files, _options, command) => importFiles(files, command.optsWithGlobals()));
}

type ImportOptions = DataOption & JsonOption & { readonly dryRun?: boolean };

const COUNTS = ['events', 'accepted', 'duplicates', 'conflicts'] as const;
type Counts = Record<(typeof COUNTS)[number], number>;

/** The outcome for a file, as `--json` prints it. In a dry run all counts but `events` are null. */
interface ImportedFile extends Counts {
  readonly file: string;
  fault: { readonly line: number | null; readonly message: string } | null;
}

/** How much is posted at a time: small enough to share a commit with cameras. */
const BATCH = { events: 100, bytes: 256 * 1024 } as const;
const ANSWER_MS = 35_000;
/** How often a batch is sent that the daemon cannot store now, and seconds in between if it does not say. */
const [TRIES, WAIT_S] = [30, 1];

async function importFiles(files: readonly string[], options: ImportOptions): Promise<void> {
  const { dryRun = false, json = false, data } = options;
  if (!dryRun) await assertDaemonRuns(data);
  const rules = await rulesOf(data);
  const imported: ImportedFile[] = [];
  try {
    for (const file of files) {
      const one = { file, events: 0, accepted: 0, duplicates: 0, conflicts: 0, fault: null };
      imported.push(one);
      await (dryRun ? checkFile(one, rules) : importFile(one, rules, data));
    }
  } finally {
    print(imported, dryRun, json);
  }
  if (imported.some(({ fault }) => fault !== null)) process.exitCode = 1;
}

function print(files: readonly ImportedFile[], dryRun: boolean, isJson: boolean): void {
  const all: Counts = { events: 0, accepted: 0, duplicates: 0, conflicts: 0 };
  for (const one of files) for (const name of COUNTS) all[name] += one[name];
  const what = `${counted(all.events, 'event')} of ${counted(files.length, 'file')}`;
  if (isJson) {
    const none = dryRun ? { accepted: null, duplicates: null, conflicts: null } : {};
    const shown = files.map(({ fault, ...one }) => ({ ...one, ...none, fault }));
    printJson({ dry_run: dryRun, ...all, ...none, files: shown });
  } else if (dryRun) say(`${what} can be imported. Nothing was stored.`);
  else {
    const { accepted, duplicates, conflicts } = all;
    const other = `, ${conflicts} of them with other content: "courtd conflicts" shows them`;
    say(`${what}: ${accepted} accepted, ${counted(duplicates, 'duplicate')}${conflicts > 0 ? other : ''}.`);
  }
}

async function checkFile(one: ImportedFile, rules: EventRules): Promise<void> {
  for await (const event of readEvents(one.file, rules)) {
    if (event instanceof FileFault) tell(one, event);
    else one.events++;
  }
}

/** Stores a file up to the batch with the first fault. */
async function importFile(one: ImportedFile, rules: EventRules, data: DataDirectory): Promise<void> {
  let [batch, bytes, lastLine]: [FileEvent[], number, number] = [[], 0, 0];
  const flush = async () => {
    if (batch.length > 0) await post(one, data, batch);
    lastLine = batch.at(-1)?.line ?? lastLine;
    [batch, bytes] = [[], 0];
    progress.show(() => `${one.file}: ${counted(one.events, 'event')}`);
  };
  try {
    for await (const event of readEvents(one.file, rules)) {
      if (event instanceof FileFault) throw event;
      if (batch.length >= BATCH.events || bytes + event.text.length > BATCH.bytes) await flush();
      batch.push(event);
      bytes += event.text.length;
    }
    await flush();
  } catch (error) {
    if (!(error instanceof FileFault)) throw error;
    tell(one, error);
    const stored =
      lastLine === 0 ? 'nothing of it is stored' : `the events up to line ${lastLine} are stored`;
    if (error.line !== null)
      say(`${one.file}: ${stored}. Correct the file and import it again: no event is stored twice.`);
  }
}

function tell(one: ImportedFile, { line, message }: FileFault): void {
  one.fault ??= { line, message };
  say(`${one.file}:${line === null ? '' : `${line}:`} ${message}`);
}

/** Posts events over `control.sock` as one request. @throws {FileFault} if one is at fault. @throws {OperatorError} if they cannot be stored. */
async function post(one: ImportedFile, data: DataDirectory, batch: readonly FileEvent[]): Promise<void> {
  const list = batch.map(({ text }) => text.toString()).join(',');
  // The largest event leaves no room for brackets.
  const body = Buffer.from(batch.length === 1 ? list : `[${list}]`);
  for (let tries = 1; ; tries++) {
    const sentAt = performance.now();
    const { status, headers, body: text } = await send(data, body);
    const { accepted, duplicates, code, error } = membersOf(text);
    if (status === 202) {
      one.events += batch.length;
      one.accepted += Number(accepted);
      one.duplicates += Number(duplicates);
      one.conflicts += Number(headers['courtd-conflicts'] ?? 0);
      // Cameras get at least half of the time.
      return sleep(performance.now() - sentAt);
    }
    if (status === 413 && batch.length > 1) {
      // The daemon takes less in one request than others do (`--body-limit`).
      const half = Math.ceil(batch.length / 2);
      await post(one, data, batch.slice(0, half));
      return post(one, data, batch.slice(half));
    }
    if (status === 413) throw new FileFault(batch[0]!.line, String(error));
    if (status !== 503 || code === 'storage_full' || tries === TRIES)
      throw new OperatorError(
        `The daemon of ${data} did not store the events: ${error ?? `it answered ${status}`} Import again when that is solved: no event is stored twice.`,
      );
    await sleep(1_000 * (Number(headers['retry-after']) || WAIT_S));
  }
}

async function send(data: DataDirectory, body: Buffer): Promise<HttpAnswer> {
  const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
  const options = { socketPath: data.file('controlSocket'), path: '/v1/events', method: 'POST', headers };
  try {
    return await requestAnswer({ ...options, agent: false }, body, { wholeMs: ANSWER_MS });
  } catch {
    throw new OperatorError(
      `The daemon of ${data} stopped before it answered. Start it with "sudo systemctl start courtd", and import again: no event is stored twice.`,
    );
  }
}
