import { setFlagsFromString } from 'node:v8';
import { eventToJson } from '../protocol/event.ts';
import { type EventFilter, readSession } from '../store/reader.ts';
import { sessionId } from '../store/sessions.ts';
import { CSV_COLUMNS, CsvWriter, csvLine } from './csv.ts';
import { type DataOption, withDatabase } from './data.ts';
import { fileSink, Progress, type Sink, say, stdoutSink } from './output.ts';

export interface ExportOptions extends DataOption {
  readonly format: 'csv' | 'ndjson';
  readonly current?: boolean;
  readonly type?: string;
  readonly court?: string;
  /** Nanoseconds since the epoch. */
  readonly from?: bigint;
  readonly to?: bigint;
  readonly output?: string;
}

/** `courtd export S`. */
export async function exportSession(name: string, options: ExportOptions): Promise<void> {
  // Without it V8 lets garbage grow, or not, as it happens.
  setFlagsFromString('--heap-growing-percent=50');
  await withDatabase(options, async (db) => {
    const session = sessionId(db, name);
    const sink = options.output === undefined ? stdoutSink() : fileSink(options.output);
    const written = await writeAll(readSession(db, session, filterOf(options)), options.format, sink);
    sink.commit();
    if (options.output !== undefined) say(`${written} events written to ${options.output}.`);
  });
}

async function writeAll(
  chunks: ReturnType<typeof readSession>,
  format: 'csv' | 'ndjson',
  sink: Sink,
): Promise<number> {
  const progress = new Progress();
  const csv = new CsvWriter();
  let [read, written] = [0, 0];
  if (format === 'csv') await sink.write(csvLine(CSV_COLUMNS));
  for (const { events, scanned } of chunks) {
    if (events.length > 0) {
      const lines = events.map((event) => (format === 'csv' ? csv.line(event) : `${eventToJson(event)}\n`));
      await sink.write(lines.join(''));
    }
    read += scanned;
    written += events.length;
    progress.show(() => `${read} events read, ${written} written`);
  }
  progress.clear();
  return written;
}

function filterOf({ type, court, from, to, current }: ExportOptions): EventFilter {
  return {
    ...(type === undefined ? {} : { type }),
    ...(court === undefined ? {} : { court }),
    ...(from === undefined ? {} : { fromNs: from }),
    ...(to === undefined ? {} : { toNs: to }),
    ...(current === undefined ? {} : { currentOnly: current }),
  };
}
