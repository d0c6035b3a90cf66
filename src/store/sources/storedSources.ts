import type { Database } from 'better-sqlite3';
import { damage } from '../sqlite/errors.ts';

/**
 * What outlives the daemon of a source, without which every start would forget who is missing. Times are in milliseconds of the
 * running time: for how long daemons have run on this database. So neither a box that is off at night nor a clock that is set
 * makes a camera late.
 */
export interface StoredSource {
  readonly court: string;
  readonly name: string;
  /** The address that it last sent from. */
  readonly client: string;
  /** Whether that address is expected to go on, by its empty arrays. */
  readonly isExpected: boolean;
  /** When it was first and last heard. */
  readonly knownAt: number;
  readonly heardAt: number;
  readonly pauses: readonly EndedPause[];
}

/** A long pause: when it ended, and how long it was. */
export type EndedPause = readonly [at: number, ms: number];

export interface StoredSources {
  readonly ranMs: number;
  readonly sources: readonly StoredSource[];
}

/** What has changed since the last write. */
export interface SourceChanges extends StoredSources {
  /** Those that were forgotten. */
  readonly gone: readonly Pick<StoredSource, 'court' | 'name'>[];
}

type SourceRow = Omit<StoredSource, 'isExpected' | 'pauses'> & {
  readonly isExpected: number;
  readonly pauses: string;
};

/** @throws {SqliteError} also for values that courtd never writes. */
export function readSources(db: Database): StoredSources {
  const ranMs = db.prepare<[], number>('SELECT ms FROM running_time').pluck().get();
  const rows = db
    .prepare<[], SourceRow>(`
      SELECT court, name, client, is_expected AS isExpected, known_at AS knownAt, heard_at AS heardAt, pauses FROM source`)
    .all();
  const isPast = (at: unknown) => Number.isSafeInteger(at) && (at as number) >= 0 && (at as number) <= ranMs!;
  const sources = rows.map((row) => ({
    ...row,
    isExpected: row.isExpected === 1,
    pauses: endedIn(row.pauses),
  }));
  const areRight = sources.every(({ knownAt, heardAt, pauses }) =>
    [knownAt, heardAt, ...(pauses?.flat() ?? [undefined])].every(isPast),
  );
  if (!isPast(ranMs) || !areRight) throw damage('source');
  return { ranMs: ranMs!, sources: sources as StoredSource[] };
}

/** @returns undefined where it is no list of pairs. */
function endedIn(text: string): EndedPause[] | undefined {
  try {
    const pauses = JSON.parse(text);
    return Array.isArray(pauses) && pauses.every((pair) => pair?.length === 2) ? pauses : undefined;
  } catch {
    return undefined;
  }
}

/** Call it inside a transaction. */
export function writeSources(db: Database, { ranMs, sources, gone }: SourceChanges): void {
  const remove = db.prepare<[string, string]>('DELETE FROM source WHERE court = ? AND name = ?');
  const put = db.prepare<[SourceRow]>(`
    INSERT OR REPLACE INTO source (court, name, client, is_expected, known_at, heard_at, pauses)
    VALUES (@court, @name, @client, @isExpected, @knownAt, @heardAt, @pauses)`);
  for (const { court, name } of gone) remove.run(court, name);
  for (const { isExpected, pauses, ...source } of sources)
    put.run({ ...source, isExpected: Number(isExpected), pauses: JSON.stringify(pauses) });
  db.prepare('UPDATE running_time SET ms = ?').run(ranMs);
}
