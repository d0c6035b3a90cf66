import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { isServed } from '../directory/directoryLock.ts';
import { type EventRow, SELECT_EVENT, toStoredEvent } from '../layout/storedEvent.ts';
import { openDatabase } from '../open/openDatabase.ts';
import { type PruneSuggestion, suggestPrune } from '../read/pruneSuggestion.ts';
import { countEvents, type EventCounts, recentSources } from '../read/storeSummary.ts';
import { listTokens, type Token } from '../tokens/tokens.ts';

/** What a database shows without being read as a whole. */
export interface QuickLook extends EventCounts {
  /** Whether a daemon is using it. */
  readonly isServed: boolean;
  /** When the newest event was received, milliseconds since 1970-01-01T00:00:00Z; null without events. */
  readonly newestMs: number | null;
  readonly tokens: readonly Token[];
  /** Null where there is none. */
  readonly suggestion: PruneSuggestion | null;
}

/**
 * Checks the header, the layout, the small tables and the newest events.
 * @throws {OperatorError} and SQLite's errors, where one of them is damaged.
 */
export function quickLook(directory: DataDirectory): QuickLook {
  const isRunning = isServed(directory);
  const db = openDatabase(directory, { check: true });
  try {
    // The newest events, as `status` reads them.
    recentSources(db, Date.now());
    const suggestion = suggestPrune(db, Date.now()) ?? null;
    return {
      isServed: isRunning,
      ...countEvents(db),
      newestMs: newestMs(db),
      tokens: listTokens(db),
      suggestion,
    };
  } finally {
    db.close();
  }
}

function newestMs(db: Database): number | null {
  const last = db.prepare<[], { seq: number; receivedMs: number }>(
    'SELECT seq, received_ms AS receivedMs FROM event ORDER BY seq DESC LIMIT 1',
  );
  const find = db.prepare<[number], EventRow>(`${SELECT_EVENT} WHERE e.seq = +?`);
  // In one transaction: a prune could delete it in between.
  const read = db.transaction(() => {
    const newest = last.get();
    return newest && { ...newest, row: find.get(newest.seq) };
  });
  const newest = read();
  if (newest === undefined) return null;
  if (newest.row === undefined || toStoredEvent(newest.row) === undefined) {
    throw new OperatorError(
      'The newest event cannot be read: keep a copy of the database, and restore a backup.',
    );
  }
  return newest.receivedMs;
}
