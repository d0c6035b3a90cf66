import { parseExact } from '../protocol/json.ts';
import type { ReadEvent } from '../store/reader.ts';
import { isoTime } from './output.ts';

/** The columns of `courtd export`, in order (design 3). */
export const CSV_COLUMNS = [
  'session_id',
  'event_id',
  'revision',
  'current',
  'eot',
  'type',
  'court_id',
  'venue_id',
  'confidence',
  'source',
  'schema_version',
  'received_at',
  'x_ft',
  'y_ft',
  'is_in',
  'kmh',
  'player_id',
  'shot_type',
  'swing_type',
  'payload',
  'extra',
] as const;

/** Numbers that a double may not hold (long, with an exponent, a zero with a minus), or names with a backslash. */
const NEEDS_EXACT = /\\|\d{16}|\d[eE]|-0|\d\.\d{13}/;

type Payload = Readonly<Record<string, unknown>>;

/** What must be quoted (RFC 4180, section 2.6). */
const SPECIAL = /[",\r\n]/;

/** @returns one record of RFC 4180 with its line end. Ours, because the libraries took twice as long as all the rest. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\r\n`;
}

/** What a million events have in common with the one before is made into text once. */
export class CsvWriter {
  #receivedMs = Number.NaN;
  #receivedAt = '';

  /** @returns the record of one event, in the order of CSV_COLUMNS. Only texts that can need it are looked at for quoting. */
  line(event: ReadEvent): string {
    const payload = parsePayload(event.payload);
    if (event.receivedMs !== this.#receivedMs) {
      this.#receivedMs = event.receivedMs;
      this.#receivedAt = isoTime(event.receivedMs) ?? '';
    }
    // Joined, not added up: V8 keeps a sum as a tree of its parts, and collecting those took as long as all the rest.
    return [
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
      this.#receivedAt,
      cell(payload.x_ft),
      cell(payload.y_ft),
      cell(payload.is_in),
      cell(payload.kmh),
      cell(payload.player_id),
      cell(payload.shot_type),
      cell(payload.swing_type),
      quoted(event.payload),
      event.extra === null ? '\r\n' : `${quoted(event.extra)}\r\n`,
    ].join(',');
  }
}

function quoted(text: string): string {
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function parsePayload(text: string): Payload {
  return (NEEDS_EXACT.test(text) ? parseExact(text) : JSON.parse(text)) as Payload;
}

/** Absent is empty; a number that a double cannot hold is its source text. */
function cell(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? quoted(value) : JSON.stringify(value);
}
