import { setFlagsFromString } from 'node:v8';
import type { Database } from 'better-sqlite3';
import { fileSink } from '../../base/fileSink.ts';
import type { Sink } from '../../base/sink.ts';
import { counted, isoTime, NS_PER_MS } from '../../base/units.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import type { Damage } from '../../store/read/damage.ts';
import { type AsOf, type EventFilter, readSession } from '../../store/read/sessionReader.ts';
import { findSession, sessionId } from '../../store/read/sessions.ts';
import type { EventWriter, Format } from './eventWriter.ts';
import { openWriter } from './openWriter.ts';

/** Which events are exported, and how. */
export interface ExportOptions extends DataOption {
  readonly format: Format;
  readonly current?: boolean;
  readonly type?: string;
  readonly court?: string;
  /** This and the next three: nanoseconds since the epoch. */
  readonly from?: bigint;
  readonly to?: bigint;
  readonly receivedFrom?: bigint;
  readonly receivedTo?: bigint;
  readonly withReceived?: boolean;
}

/** Tells a person how an export gets on. */
export interface ExportTeller {
  /** Shows how far it is, for as long as nothing else is said. Called often. */
  show(text: () => string): void;
  say(sentence: string): void;
}

/** What was written of one session. */
interface Written {
  readonly events: number;
  /** The same as a message tells it. */
  readonly wrote: string;
  /** Up to where the box was read, and when, as a message tells it. */
  readonly asOf: string;
}

export interface ExportSink extends Sink {
  report?(wrote: string, asOf: string): void;
}

interface Output {
  readonly sink: ExportSink;
  readonly writer: EventWriter;
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
  teller: ExportTeller,
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
      teller.show(() => `${read} events read, ${written} written`);
    }
    await output?.writer.end(asOf);
    output?.sink.commit();
    const wrote = output?.writer.wrote?.(written) ?? counted(written, 'event');
    const told = `as_of seq ${asOf.seq}, ${isoTime(asOf.ms)}`;
    output?.sink.report?.(wrote, told);
    return { events: written, wrote, asOf: told };
  });
}

/** Opens the database for one query or one session: each is read on a connection of its own. */
export function withExportedDatabase<Result>(
  options: DataOption,
  work: (db: Database) => Result | Promise<Result>,
): Promise<Result> {
  // Keeps memory constant: by default the heap may grow far before V8 collects garbage.
  setFlagsFromString('--heap-growing-percent=50');
  return withDatabase(options, work);
}

/** Opens a file that appears, or replaces the existing one, when it is complete. */
export function openFile(file: string, teller: Pick<ExportTeller, 'say'>): ExportSink {
  const sink = fileSink(file);
  const note = sink.replaces ? '; the existing file was replaced' : '';
  return { ...sink, report: (wrote, asOf) => teller.say(`${wrote} written to ${file}${note}; ${asOf}.`) };
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
  return ns === undefined ? undefined : Number(ns / NS_PER_MS) + (ns % NS_PER_MS > 0n ? 1 : 0);
}
