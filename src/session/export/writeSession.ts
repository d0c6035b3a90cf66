import { setFlagsFromString } from 'node:v8';
import type { Database } from 'better-sqlite3';
import type { Sink } from '../../base/sink.ts';
import { counted, isoTime, NS_PER_MS } from '../../base/units.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import type { Damage } from '../../store/read/damage.ts';
import { type AsOf, type EventFilter, readSession } from '../../store/read/sessionReader.ts';
import { findSession, sessionId } from '../../store/read/sessions.ts';
import type { Format } from './eventWriter.ts';
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

/** Where an export goes. */
interface Destination {
  /** Its name; absent: standard output. */
  readonly file?: string;
  /** Whether it is only opened when there is an event to write: otherwise at once. */
  readonly unlessEmpty?: boolean;
  open(): Sink;
}

/**
 * Writes the events of one session that pass the filters, but for those that are damaged, and says so.
 * @param damage takes those.
 * @returns how many there were.
 */
export async function writeSession(
  name: string,
  options: ExportOptions,
  damage: Damage,
  { file, unlessEmpty = false, open }: Destination,
  teller: ExportTeller,
): Promise<number> {
  return withExportedDatabase(options, async (db) => {
    const session = unlessEmpty ? findSession(db, name) : sessionId(db, name);
    // A prune has deleted it since it was found.
    if (session === undefined) return 0;
    const begin = async () => {
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
    if (output === undefined) return 0;
    const { sink, writer } = output;
    await writer.end(asOf);
    sink.commit();
    const wrote = writer.wrote?.(written) ?? counted(written, 'event');
    teller.say(writtenSentence(wrote, asOf, sink, file));
    return written;
  });
}

/** @param file its name; absent: standard output. @returns what was written, where, and up to where the box was read. */
export function writtenSentence(wrote: string, { seq, ms }: AsOf, sink: Sink, file?: string): string {
  const note = sink.replaces ? '; the existing file was replaced' : '';
  const place = file === undefined ? '' : ` to ${file}${note}`;
  return `${wrote} written${place}; as_of seq ${seq}, ${isoTime(ms)}.`;
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
