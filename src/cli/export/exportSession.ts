import { setFlagsFromString } from 'node:v8';
import type { Database } from 'better-sqlite3';
import { OperatorError } from '../../base/operatorError.ts';
import type { Sink } from '../../base/sink.ts';
import { counted, isoTime } from '../../base/units.ts';
import { BINARY_FORMATS, type EventWriter, type Format } from '../../session/export/eventWriter.ts';
import { openWriter } from '../../session/export/openWriter.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { Damage } from '../../store/read/damage.ts';
import { type AsOf, type EventFilter, readSession } from '../../store/read/sessionReader.ts';
import { findSession, sessionId, summarizeSession } from '../../store/read/sessions.ts';
import type { Day } from '../options/times.ts';
import { Progress, say } from '../terminal/output.ts';
import { fileSink, stdoutSink } from '../terminal/sinks.ts';

export interface ExportOptions extends DataOption {
  readonly format: Format;
  readonly day?: Day;
  readonly current?: boolean;
  readonly type?: string;
  readonly court?: string;
  /** This and the next three: nanoseconds since the epoch. */
  readonly from?: bigint;
  readonly to?: bigint;
  readonly receivedFrom?: bigint;
  readonly receivedTo?: bigint;
  readonly withReceived?: boolean;
  readonly output?: string;
}

/** The most courts, types or events that a message lists. */
const NAMES_LISTED = 10;

/** What was written of one session. */
export interface Written {
  readonly events: number;
  /** The same as a message tells it. */
  readonly wrote: string;
  /** Up to where the box was read, and when, as a message tells it. */
  readonly asOf: string;
}

export async function exportSession(name: string, options: ExportOptions): Promise<void> {
  const { output, format } = options;
  if (output === undefined && process.stdout.isTTY && BINARY_FORMATS.includes(format)) {
    throw new OperatorError(
      `A terminal cannot show ${format}: name a file with -o, such as -o match.${format}.`,
    );
  }
  const damage = new Damage();
  const { events, wrote, asOf } = await writeSession(name, options, damage, () =>
    output === undefined ? stdoutSink() : openFile(output),
  );
  if (output === undefined) say(`${wrote} written; ${asOf}.`);
  damage.assertNone();
  if (events === 0) await sayNoMatch(name, options);
}

/**
 * Writes the events of one session that pass the filters, but for those that are damaged.
 * @param damage takes those.
 * @param open opens the destination: at once, or with `unlessEmpty` only when there is an event to write.
 */
export async function writeSession(
  name: string,
  options: ExportOptions,
  damage: Damage,
  open: () => ExportSink,
  { unlessEmpty = false } = {},
): Promise<Written> {
  return withExportedDatabase(options, async (db) => {
    const session = unlessEmpty ? findSession(db, name) : sessionId(db, name);
    // A prune has deleted it since it was found.
    if (session === undefined) return { events: 0, wrote: counted(0, 'event'), asOf: '' };
    const begin = async (): Promise<Output> => {
      const sink = open();
      return { sink, writer: await openWriter(name, options, sink) };
    };
    let output = unlessEmpty ? undefined : await begin();
    const progress = new Progress();
    let [read, written] = [0, 0];
    let asOf: AsOf = { seq: 0, ms: 0 };
    const onBegin = (begun: AsOf) => {
      asOf = begun;
    };
    for (const { events, scanned } of readSession(db, session, { ...filterOf(options), damage, onBegin })) {
      if (events.length > 0) {
        output ??= await begin();
        await output.writer.write(events);
      }
      read += scanned;
      written += events.length;
      progress.show(() => `${read} events read, ${written} written`);
    }
    progress.clear();
    await output?.writer.end(asOf);
    output?.sink.commit();
    const wrote = output?.writer.wrote?.(written) ?? counted(written, 'event');
    const told = `as_of seq ${asOf.seq}, ${isoTime(asOf.ms)}`;
    output?.sink.report?.(wrote, told);
    return { events: written, wrote, asOf: told };
  });
}

interface Output {
  readonly sink: ExportSink;
  readonly writer: EventWriter;
}

/** Opens the database for one query or one session: each is read on a connection of its own. */
export function withExportedDatabase<Result>(
  options: ExportOptions,
  work: (db: Database) => Result | Promise<Result>,
): Promise<Result> {
  // Keeps memory constant: by default the heap may grow far before V8 collects garbage.
  setFlagsFromString('--heap-growing-percent=50');
  return withDatabase(options, work);
}

export interface ExportSink extends Sink {
  report?(wrote: string, asOf: string): void;
}

/** Opens a file that appears, or replaces the existing one, when it is complete. */
export function openFile(file: string): ExportSink {
  const sink = fileSink(file);
  const note = sink.replaces ? '; the existing file was replaced' : '';
  return { ...sink, report: (wrote, asOf) => say(`${wrote} written to ${file}${note}; ${asOf}.`) };
}

function filterOf(options: ExportOptions): EventFilter {
  const { type, court, from, to, receivedFrom, receivedTo, format } = options;
  return {
    type,
    court,
    fromNs: from,
    toNs: to,
    receivedFromMs: wholeMs(receivedFrom),
    receivedToMs: wholeMs(receivedTo),
    // A coach wants one row an event.
    currentOnly: options.current === true || format === 'xlsx',
  };
}

/** Rounds up, because times of receipt are whole milliseconds. */
export function wholeMs(ns: bigint | undefined): number | undefined {
  return ns === undefined ? undefined : Number(ns / 1_000_000n) + (ns % 1_000_000n > 0n ? 1 : 0);
}

/** Lists what the session does have, since a court is easily misspelt and a time given in the wrong time zone. */
async function sayNoMatch(name: string, options: ExportOptions): Promise<void> {
  const { type, court, from, to, receivedFrom, receivedTo } = options;
  const summary = await withExportedDatabase(options, (db) => summarizeSession(db, name));
  const has: string[] = [];
  if (court !== undefined) has.push(`the courts ${listed(Object.keys(summary.by_court))}`);
  if (type !== undefined) has.push(`the types ${listed(Object.keys(summary.by_type))}`);
  if ((from ?? to) !== undefined) has.push(`events from ${summary.first_eot} to ${summary.last_eot}`);
  if ((receivedFrom ?? receivedTo) !== undefined) has.push(await receivedIn(name, options));
  const instead = has.length === 0 ? '' : `: session ${JSON.stringify(name)} has ${has.join(', ')}`;
  say(`No event matched${instead}.`);
}

/** @returns when the first and the last event of a session were received. */
async function receivedIn(name: string, options: ExportOptions): Promise<string> {
  let [first, last]: (number | null)[] = [];
  await withExportedDatabase(options, (db) => {
    for (const { events } of readSession(db, sessionId(db, name))) {
      for (const { receivedMs } of events) {
        first = Math.min(first ?? receivedMs, receivedMs);
        last = Math.max(last ?? receivedMs, receivedMs);
      }
    }
  });
  return `events received from ${isoTime(first ?? null)} to ${isoTime(last ?? null)}`;
}

function listed(names: readonly string[]): string {
  const rest = names.length - NAMES_LISTED;
  return `${names.slice(0, NAMES_LISTED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
