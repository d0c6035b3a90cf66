import type { Sink } from '../../base/sink.ts';
import { eventToJson } from '../../protocol/event.ts';
import type { ReadEvent } from '../../store/read/sessionReader.ts';
import { CSV_COLUMNS, csvLine, eventRecord } from './csvWriter.ts';
import type { EventWriter, Format } from './eventWriter.ts';

/** Begins the output: the writer may have written a header already. */
export async function openWriter(session: string, format: Format, sink: Sink): Promise<EventWriter> {
  if (format === 'xlsx') return new (await import('./xlsxWriter.ts')).XlsxWriter(sink, session);
  if (format === 'parquet') return new (await import('./parquetWriter.ts')).ParquetWriter(sink);
  if (format === 'csv') await sink.write(csvLine(CSV_COLUMNS));
  const toLine = format === 'csv' ? eventRecord : eventLine;
  return {
    write: (events) => sink.write(events.map(toLine).join('')),
    end: async () => {},
  };
}

/** The mark of an erased event is its first member, so that a line is an event as all the others; an import takes it off. */
function eventLine(event: ReadEvent): string {
  const json = eventToJson(event);
  return event.erased ? `{"erased":true,${json.slice(1)}\n` : `${json}\n`;
}
