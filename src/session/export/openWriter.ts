import type { Sink } from '../../base/sink.ts';
import { isoTime } from '../../base/units.ts';
import { eventToJson } from '../../protocol/event.ts';
import type { ReadEvent } from '../../store/read/sessionReader.ts';
import { CSV_COLUMNS, csvLine, eventRecord } from './csvWriter.ts';
import type { EventWriter, Format } from './eventWriter.ts';

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
