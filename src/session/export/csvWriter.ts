import { isoTime } from '../../base/units.ts';
import { payloadCells } from '../../protocol/payload.ts';
import type { ReadEvent } from '../../store/read/sessionReader.ts';
import { COLUMNS, FIRST_FIELDS } from './columns.ts';

export const CSV_COLUMNS = COLUMNS.map(({ name }) => name);

/** A cell with one of these must be quoted (RFC 4180, section 2.6). */
const SPECIAL = /[",\r\n]/;
/** A regular expression is faster here than replaceAll with a string. */
const QUOTES = /"/g;

/** @returns one record of RFC 4180 with its line end. The CSV libraries took twice as long as the rest of an export. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\r\n`;
}

/** @returns the record of one event, in the order of COLUMNS. Only cells that may need quoting are checked for it. */
export function eventRecord(event: ReadEvent): string {
  const known = payloadCells(event.payload).map((cell) => (cell === undefined ? '' : quoted(cell)));
  const later = known.splice(FIRST_FIELDS);
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
    ...known,
    quoted(event.payload),
    event.extra === null ? '' : quoted(event.extra),
    event.erased === true,
    ...later,
  ];
  return `${cells.join(',')}\r\n`;
}

function quoted(text: string): string {
  return SPECIAL.test(text) ? `"${text.replace(QUOTES, '""')}"` : text;
}
