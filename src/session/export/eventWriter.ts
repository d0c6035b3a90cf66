import type { AsOf, ReadEvent } from '../../store/read/sessionReader.ts';

/** Writes the events of a session in one format. */
export interface EventWriter {
  /** @param events in order of eot, and of arrival if that is equal. */
  write(events: readonly ReadEvent[]): Promise<void>;
  /** Writes the rest of the file; the sink is committed afterwards. @param asOf of the events that were given to `write`. */
  end(asOf: AsOf): Promise<void>;
  /** @returns the rows written, for a message; if absent, every event is a row. @param events how many were given to `write`. */
  wrote?(events: number): string;
}

export const FORMATS = ['csv', 'ndjson', 'xlsx', 'parquet'] as const;
export type Format = (typeof FORMATS)[number];

/** Those that are no text: a terminal cannot show them. */
export const BINARY_FORMATS: readonly Format[] = ['xlsx', 'parquet'];
