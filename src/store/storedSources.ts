import type { Store } from './store.ts';

/**
 * The facts about a source that survive the daemon: without them, every start would forget which camera is missing or faulty.
 * Only days on which any source sent count, so days on which the venue is closed do not.
 */
export interface StoredSource {
  readonly court: string;
  readonly name: string;
  /** The address that it last sent from. */
  readonly client: string;
  /** Whether that address is expected to continue, by its empty arrays. */
  readonly isExpected: boolean;
  /** The numbers of the days of its first and its last request. */
  readonly firstDay: number;
  readonly lastDay: number;
  /** When its last event was received, in milliseconds since 1970-01-01T00:00:00Z; null if none was stored. */
  readonly lastMs: number | null;
  readonly faults: readonly StoredFault[];
}

/** A fault of the last hour: which, in how many events, and when the last one came (milliseconds since 1970-01-01T00:00:00Z). */
export type StoredFault = readonly [fault: string, events: number, atMs: number];

export interface StoredSources {
  readonly days: number;
  readonly sources: readonly StoredSource[];
}

type SourceRow = Omit<StoredSource, 'isExpected' | 'lastMs' | 'faults'> & {
  readonly isExpected: number;
  /** JSON of `lastMs` and `faults`. */
  readonly memory: string;
};

/** @returns undefined if they cannot be read: a start can do without them. If a page is damaged, writing them reports it. */
export function readSources({ db }: Store): StoredSources | undefined {
  try {
    const days = db.prepare<[], number>('SELECT ms FROM running_time').pluck().get()!;
    const rows = db.prepare<[], SourceRow>(`
      SELECT court, name, client, is_expected AS isExpected, known_at AS firstDay, heard_at AS lastDay, pauses AS memory FROM source`);
    const sources = rows.all().map(({ memory, isExpected, ...row }) => ({
      ...row,
      isExpected: isExpected === 1,
      ...{ lastMs: null, faults: [], ...JSON.parse(memory) },
    }));
    return { days, sources };
  } catch {
    return undefined;
  }
}

/** Replaces what is stored. @returns whether that is on disk. */
export function writeSources({ db, writer }: Store, { days, sources }: StoredSources): boolean {
  return writer.aside(() => {
    db.exec('DELETE FROM source');
    const put = db.prepare<[SourceRow]>(`
      INSERT INTO source (court, name, client, is_expected, known_at, heard_at, pauses)
      VALUES (@court, @name, @client, @isExpected, @firstDay, @lastDay, @memory)`);
    for (const { isExpected, lastMs, faults, ...source } of sources)
      put.run({ ...source, isExpected: Number(isExpected), memory: JSON.stringify({ lastMs, faults }) });
    db.prepare('UPDATE running_time SET ms = ?').run(days);
  });
}
