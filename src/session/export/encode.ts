import { isoTime } from '../../base/units.ts';
import { eventToJson } from '../../protocol/courtEvent.ts';
import { payloadCells } from '../../protocol/payload.ts';
import type { AsOf, ReadEvent } from '../../store/read/sessionReader.ts';
import { COLUMNS } from './columns.ts';

export const FORMATS = ['csv', 'ndjson', 'xlsx', 'parquet'] as const;
export type Format = (typeof FORMATS)[number];

/** Those that are no text: a terminal cannot show them. */
export const BINARY_FORMATS: readonly Format[] = ['xlsx', 'parquet'];

/**
 * @param chunks the events of a session, by eot, and by arrival if that is equal.
 * @param asOf of these events.
 * @yields the file in one format, piece by piece.
 */
export async function* encode(
  format: Format,
  session: string,
  chunks: Iterable<readonly ReadEvent[]>,
  asOf: AsOf,
): AsyncGenerator<string | Uint8Array> {
  if (format === 'xlsx') yield* (await import('./sessionWorkbook.ts')).toWorkbook(session, chunks, asOf);
  else if (format === 'parquet') yield* (await import('./parquet.ts')).toParquet(chunks, asOf);
  else {
    if (format === 'csv') yield `${COLUMNS.map(({ name }) => name).join(',')}\r\n`;
    for (const events of chunks) yield events.map(format === 'csv' ? csvRecord : jsonLine).join('');
  }
}

/** The mark of an erased event is its first member, so that a line is an event as all the others; an import takes it off. */
export function jsonLine(event: ReadEvent): string {
  const json = eventToJson(event);
  return event.erased ? `{"erased":true,${json.slice(1)}\n` : `${json}\n`;
}

/**
 * @returns the record of one event (RFC 4180), in the order of COLUMNS. Only cells that may need quoting are checked for it. The CSV
 * libraries took twice as long as the rest of an export.
 */
function csvRecord(event: ReadEvent): string {
  // join() instead of +: V8 keeps a concatenation as a tree, and collecting those took as long as the rest of an export.
  const cells = [
    quoted(event.sessionId),
    quoted(event.eventId),
    event.revision,
    event.current,
    quoted(event.eot),
    event.type,
    quoted(event.courtId),
    quoted(event.venueId),
    event.confidence,
    quoted(event.source),
    event.schemaVersion,
    isoTime(event.receivedMs),
    ...payloadCells(event.payload).map((cell) => quoted(cell ?? '')),
    quoted(event.payload),
    quoted(event.extra ?? ''),
    Boolean(event.erased),
  ];
  return `${cells.join(',')}\r\n`;
}

/** A cell with one of these must be quoted (RFC 4180, section 2.6). */
const SPECIAL = /[",\r\n]/;
/** A regular expression is faster here than replaceAll with a string. */
const QUOTES = /"/g;

function quoted(text: string): string {
  return SPECIAL.test(text) ? `"${text.replace(QUOTES, '""')}"` : text;
}
