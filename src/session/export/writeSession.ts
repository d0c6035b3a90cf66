import { setFlagsFromString } from 'node:v8';
import type { Database } from 'better-sqlite3';
import type { Sink } from '../../base/sink.ts';
import { counted, isoTime } from '../../base/units.ts';
import { type DataOption, withDatabase } from '../../store/db/withDatabase.ts';
import type { Damage } from '../../store/read/damage.ts';
import { type AsOf, type EventFilter, readSession } from '../../store/read/sessionReader.ts';
import type { Format } from './eventWriter.ts';
import { openWriter } from './openWriter.ts';

/** Which events of a session are exported, and how. */
export interface ExportOptions extends DataOption {
  readonly format: Format;
  readonly current?: boolean;
  readonly type?: string;
  readonly court?: string;
  /** This and the next: nanoseconds since 1970-01-01T00:00:00Z. */
  readonly from?: bigint;
  readonly to?: bigint;
}

/** Reports to a person how far an export is. */
export interface ExportTeller {
  /** Shows how far it is until something else is printed. Called often. */
  show(text: () => string): void;
  say(sentence: string): void;
}

/** The target of an export. */
interface Destination {
  /** Its name; undefined: standard output. */
  readonly file: string | undefined;
  open(): Sink;
}

/**
 * Writes the events of one session that pass the filters and are not damaged, and prints how many there were.
 * @param one `session` is its id, `name` its session_id.
 * @param damage takes the damaged ones.
 * @returns how many were written.
 * @throws {OperatorError} if the output cannot be written.
 */
export async function writeSession(
  db: Database,
  { session, name }: { readonly session: number; readonly name: string },
  options: ExportOptions,
  damage: Damage,
  { file, open }: Destination,
  teller: ExportTeller,
): Promise<number> {
  const sink = open();
  const writer = await openWriter(name, options.format, sink);
  let [read, written] = [0, 0];
  let asOf: AsOf = { seq: 0, ms: 0 };
  const onBegin = (begun: AsOf) => {
    asOf = begun;
  };
  for (const { events, scanned } of readSession(db, session, { ...filterOf(options), damage, onBegin })) {
    if (events.length > 0) await writer.write(events);
    read += scanned;
    written += events.length;
    teller.show(() => `${read} events read, ${written} written`);
  }
  await writer.end(asOf);
  sink.commit();
  const wrote = writer.wrote?.(written) ?? counted(written, 'event');
  teller.say(writtenSentence(wrote, asOf, sink, file));
  return written;
}

/** @param file its name; absent: standard output. @returns what was written, the file, and the last seq that was read. */
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

function filterOf({ type, court, from, to, current, format }: ExportOptions): EventFilter {
  // A coach wants one row per event.
  return { type, court, fromNs: from, toNs: to, currentOnly: current === true || format === 'xlsx' };
}
