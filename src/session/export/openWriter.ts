import type { Sink } from '../../base/sink.ts';
import { isoTime } from '../../base/units.ts';
import { eventToJson } from '../../protocol/courtEvent.ts';
import { payloadCells } from '../../protocol/payload.ts';
import type { ReadEvent } from '../../store/read/sessionReader.ts';
import { COLUMNS } from './columns.ts';
import type { EventWriter, Format } from './eventWriter.ts';

/** Begins the output: the writer may have written a header already. */
export async function openWriter(session: string, format: Format, sink: Sink): Promise<EventWriter> {
  if (format === 'xlsx') return new (await import('./xlsxWriter.ts')).XlsxWriter(sink, session);
  if (format === 'parquet') return new (await import('./parquetWriter.ts')).ParquetWriter(sink);
  if (format === 'csv') await sink.write(`${COLUMNS.map(({ name }) => name).join(',')}\r\n`);
  const toLine = format === 'csv' ? csvRecord : jsonLine;
  return {
    write: (events) => sink.write(events.map(toLine).join('')),
    end: async () => {},
  };
}

/** The mark of an erased event is its first member, so that a line is an event as all the others; an import takes it off. */
function jsonLine(event: ReadEvent): string {
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
    ...payloadCells(event.payload).map((cell) => (cell === undefined ? '' : quoted(cell))),
    quoted(event.payload),
    event.extra === null ? '' : quoted(event.extra),
    event.erased === true,
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
