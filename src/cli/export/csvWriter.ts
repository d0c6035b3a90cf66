import { LastText } from '../../base/lastText.ts';
import { NAMES_CACHED } from '../../base/limits.ts';
import { JsonReader } from '../../protocol/jsonReader.ts';
import { readPayload } from '../../protocol/sentEvent.ts';
import type { ReadEvent } from '../../store/read/sessionReader.ts';
import { isoTime } from '../terminal/output.ts';
import { COLUMNS } from './columns.ts';

export const CSV_COLUMNS = COLUMNS.map(({ name }) => name);

/** A cell with one of these must be quoted (RFC 4180, section 2.6). */
const SPECIAL = /[",\r\n]/;
/** A regular expression is faster here than replaceAll with a string. */
const QUOTES = /"/g;

/** @returns one record of RFC 4180 with its line end. The CSV libraries took twice as long as the rest of an export. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\r\n`;
}

/** Formats events. The text of a value that an event shares with the one before, or with its origin, is made only once. */
export class CsvWriter {
  readonly #session = new LastText(quoted);
  readonly #received = new LastText((ms: number) => isoTime(ms) ?? '');
  readonly #origins = new Map<number, OriginTexts>();

  /** @returns the record of one event, in the order of COLUMNS. Only cells that may need quoting are checked for it. */
  line(event: ReadEvent): string {
    const payload = readPayload(new JsonReader(event.payload, 'texts'));
    const origin = this.#origins.get(event.origin) ?? this.#addOrigin(event);
    // join() instead of +: V8 keeps a concatenation as a tree, and collecting those took as long as the rest of an export.
    return [
      this.#session.text(event.sessionId),
      quoted(event.eventId),
      event.revision,
      event.current,
      quoted(event.eot),
      origin.typeToVenue,
      event.confidence,
      origin.sourceAndVersion,
      this.#received.text(event.receivedMs),
      // In the order of PAYLOAD_FIELDS; unrolled, because this runs for each of a million events.
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

  #addOrigin({ origin, type, courtId, venueId, source, schemaVersion }: ReadEvent): OriginTexts {
    const texts = {
      typeToVenue: [type, quoted(courtId), quoted(venueId)].join(','),
      sourceAndVersion: [quoted(source), schemaVersion].join(','),
    };
    if (this.#origins.size >= NAMES_CACHED) this.#origins.clear();
    this.#origins.set(origin, texts);
    return texts;
  }
}

/** Neighbouring cells, joined. */
interface OriginTexts {
  readonly typeToVenue: string;
  readonly sourceAndVersion: string;
}

function quoted(text: string): string {
  return SPECIAL.test(text) ? `"${text.replace(QUOTES, '""')}"` : text;
}

/** An absent field is an empty cell; a number is written as it was sent. */
function cell(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? quoted(value) : JSON.stringify(value);
}
