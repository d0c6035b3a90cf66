import type { Sink } from '../../base/sink.ts';
import { isoTime } from '../../base/units.ts';
import { eventToJson } from '../../protocol/event.ts';
import type { ReadEvent } from '../../store/read/sessionReader.ts';
import { CSV_COLUMNS, csvLine, eventRecord } from './csvWriter.ts';

/** Writes the events of a session in one format. */
export interface EventWriter {
  /** @param events in order of eot, and of arrival where that is equal. */
  write(events: readonly ReadEvent[]): Promise<void>;
  /** Writes what is still to be written; the sink is committed afterwards. */
  end(): Promise<void>;
  /** @returns what was written, for a message: where absent, every event. @param events how many were given to `write`. */
  wrote?(events: number): string;
}

export type Format = 'csv' | 'ndjson' | 'xlsx' | 'parquet';

/** Those that are no text: a terminal cannot show them. */
export const BINARY_FORMATS: readonly Format[] = ['xlsx', 'parquet'];

interface WriterOptions {
  readonly format: Format;
  readonly withReceived?: boolean;
}

/** Begins the output: the writer may have written a header already. */
export async function openWriter(
  session: string,
  { format, withReceived }: WriterOptions,
  sink: Sink,
): Promise<EventWriter> {
  if (format === 'xlsx') return new (await import('./xlsxWriter.ts')).XlsxWriter(sink, session);
  if (format === 'parquet') return new (await import('./parquetWriter.ts')).ParquetWriter(sink);
  if (format === 'csv') {
    await sink.write(csvLine(CSV_COLUMNS));
    return linesTo(sink, eventRecord);
  }
  return linesTo(sink, withReceived === true ? receivedLine : eventLine);
}

function linesTo(sink: Sink, toLine: (event: ReadEvent) => string): EventWriter {
  return {
    write: (events) => sink.write(events.map(toLine).join('')),
    end: async () => {},
  };
}

function eventLine(event: ReadEvent): string {
  return `${eventToJson(event)}\n`;
}

/** Beside the event, not in it: the event may have a field of that name. */
function receivedLine(event: ReadEvent): string {
  return `{"received_at":"${isoTime(event.receivedMs)}","event":${eventToJson(event)}}\n`;
}
