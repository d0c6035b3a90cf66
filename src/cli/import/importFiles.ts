import fs from 'node:fs';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { asCaller } from '../../base/processIdentity.ts';
import { counted } from '../../base/units.ts';
import { rulesOf } from '../../control/eventRules.ts';
import type { EventRules } from '../../protocol/validate.ts';
import { FileFault, type FileLine, REQUEST_LIMITS, readBatches } from '../../session/import/eventFile.ts';
import type { DataOption } from '../../store/open/withDatabase.ts';
import { explainRefused, openRefused, type RefusedBodies } from '../../store/rejections/refusedBodies.ts';
import { type JsonOption, Progress, printJson, say } from '../terminal/output.ts';
import { type EventSink, openSink } from './eventSink.ts';

interface ImportOptions extends DataOption, JsonOption {
  readonly dryRun?: boolean;
}

/** What became of a file, as `--json` says it. */
interface ImportedFile {
  readonly file: string;
  /** Valid ones, up to the batch with the fault. */
  events: number;
  /** Null where nothing was stored because nothing was meant to be. */
  accepted: number | null;
  duplicates: number | null;
  conflicts: number | null;
  /** The first. */
  fault: { readonly line: number | null; readonly message: string } | null;
  /** How many lines are wrong: a dry run looks at all of them. */
  faults: number;
}

/** Of a file: those of a dry run beyond are counted. */
const FAULTS_TOLD = 50;

const COUNTS = ['events', 'accepted', 'duplicates', 'conflicts'] as const;
type Count = (typeof COUNTS)[number];

/** `courtd import FILE…`: the exit status is 1 where a file had a fault. */
export async function importFiles(files: readonly string[], options: ImportOptions): Promise<void> {
  const { dryRun = false, json = false, data } = options;
  const rules = await rulesOf(data);
  const sink = dryRun ? undefined : await openSink(data);
  const imported: ImportedFile[] = [];
  const bar = new Bar(files);
  const ticks = new Ticks(data);
  try {
    for (const file of files) {
      const none = dryRun ? null : 0;
      const counts = { events: 0, accepted: none, duplicates: none, conflicts: none };
      const one: ImportedFile = { file, ...counts, fault: null, faults: 0 };
      imported.push(one);
      await importFile(ticks, one, sink, rules, bar);
    }
  } finally {
    bar.clear();
    tell(imported, { dryRun, json });
    ticks.close();
    await sink?.close();
  }
  if (imported.some(({ fault }) => fault !== null)) process.exitCode = 1;
}

/** Ticks off what came from refused requests, whatever has been mended of it. */
class Ticks {
  readonly #data: DataDirectory;
  #refused: RefusedBodies | undefined;

  constructor(data: DataDirectory) {
    this.#data = data;
  }

  /** @throws {OperatorError} */
  add(lines: readonly FileLine[]): void {
    const places = lines.flatMap(({ refused }) => refused ?? []);
    if (places.length === 0) return;
    this.#refused ??= openRefused(this.#data);
    try {
      for (const [requestId, some] of Map.groupBy(places, ({ requestId }) => requestId))
        this.#refused?.tickOff(requestId, new Set(some.map(({ index }) => index)));
    } catch (error) {
      throw explainRefused(error, this.#data);
    }
  }

  close(): void {
    this.#refused?.close();
  }
}

async function importFile(
  ticks: Ticks,
  one: ImportedFile,
  sink: EventSink | undefined,
  rules: EventRules,
  bar: Bar,
): Promise<void> {
  let lastLine = 0;
  const limits = sink?.limits ?? REQUEST_LIMITS;
  const onFault = ({ line, message }: FileFault) => {
    one.fault ??= { line, message };
    if (line !== null) one.faults++;
    if (one.faults > FAULTS_TOLD) return;
    bar.clear();
    say(`${one.file}:${line === null ? '' : `${line}:`} ${message}`);
  };
  const options = { limits, rules, onFault: sink === undefined ? onFault : undefined };
  try {
    for await (const batch of readBatches(one.file, options, (bytes) => bar.read(bytes))) {
      if (sink !== undefined) {
        const { accepted, duplicates, conflicts } = await sink.send(batch);
        one.accepted! += accepted;
        one.duplicates! += duplicates;
        one.conflicts! += conflicts;
        ticks.add(batch.lines);
      }
      one.events += batch.events.length;
      lastLine = batch.lines.at(-1)?.number ?? lastLine;
      bar.show(one);
    }
  } catch (error) {
    if (!(error instanceof FileFault)) throw error;
    onFault(error);
    // Of a file that cannot be opened there is no more to say.
    if (sink !== undefined && error.line !== null) {
      const stored = lastLine === 0 ? 'Nothing of it is' : `Its events up to line ${lastLine} are`;
      say(
        `${one.file}: ${stored} stored. Correct it and import it again: what is stored is not stored twice.`,
      );
    }
  }
  const more = one.faults - FAULTS_TOLD;
  if (more > 0)
    say(`${one.file}: and ${counted(more, 'more line')} that ${more === 1 ? 'is' : 'are'} wrong.`);
}

function tell(imported: readonly ImportedFile[], { dryRun, json }: { dryRun: boolean; json: boolean }): void {
  const sum = (count: Count) =>
    dryRun && count !== 'events' ? null : imported.reduce((sum, one) => sum + (one[count] ?? 0), 0);
  const [events, accepted, duplicates, conflicts] = COUNTS.map(sum);
  if (json) {
    const files = imported.map(({ faults: _faults, ...file }) => file);
    return printJson({ dry_run: dryRun, events, accepted, duplicates, conflicts, files });
  }
  const of = `of ${counted(imported.length, 'file')}`;
  if (dryRun) {
    const wrong = imported.reduce((sum, { faults }) => sum + faults, 0);
    const rest = wrong === 0 ? '' : ` and right, ${wrong === 1 ? '1 line is' : `${wrong} lines are`} wrong`;
    return say(`${counted(events!, 'event')} ${of} checked${rest}; nothing was stored.`);
  }
  const note = conflicts === 0 ? '' : ` (${conflicts} with different content than what is stored)`;
  say(
    `${counted(events!, 'event')} ${of}: ${accepted} accepted, ${counted(duplicates!, 'duplicate')}${note}.`,
  );
}

const BAR_CHARS = 20;

/** How far it is, on a terminal: by bytes of all files, as they lie there. */
class Bar {
  readonly #progress = new Progress();
  readonly #totalBytes: number;
  #readBytes = 0;

  constructor(files: readonly string[]) {
    this.#totalBytes = files.reduce((sum, file) => sum + sizeOf(file), 0);
  }

  read(bytes: number): void {
    this.#readBytes += bytes;
  }

  show({ file, events }: ImportedFile): void {
    this.#progress.show(() => {
      const count = `${file}: ${counted(events, 'event')}`;
      // A pipe does not say how much will come.
      if (this.#totalBytes === 0) return count;
      const part = Math.min(1, this.#readBytes / this.#totalBytes);
      const filled = Math.round(part * BAR_CHARS);
      const bar = `${'#'.repeat(filled)}${'-'.repeat(BAR_CHARS - filled)}`;
      return `[${bar}] ${Math.floor(100 * part)} %  ${count}`;
    });
  }

  clear(): void {
    this.#progress.clear();
  }
}

function sizeOf(file: string): number {
  try {
    return asCaller(() => fs.statSync(file)).size;
  } catch {
    return 0;
  }
}
