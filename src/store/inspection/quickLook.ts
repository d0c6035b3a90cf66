import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { isServed } from '../directory/directoryLock.ts';
import { unfinishedErasureMs } from '../erasure/ledger.ts';
import { ARRIVAL_COLUMNS, ArrivalDecoder, type ArrivalRow } from '../read/arrivalRow.ts';
import { Damage } from '../read/damage.ts';
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
  /** When an erasure was asked for that is not finished, milliseconds since 1970-01-01T00:00:00Z; null: all are. */
  readonly unfinishedErasureMs: number | null;
  /** Null where there is none. */
  readonly suggestion: PruneSuggestion | null;
}

/**
 * Checks the header, the layout, the small tables and the newest events.
 * @throws {OperatorError} and SQLite's errors, where one of them is damaged.
 */
export function quickLook(db: Database): QuickLook {
  // The newest events, as `status` reads them.
  recentSources(db, Date.now());
  return {
    isServed: isServed(DataDirectory.of(db.name)),
    ...countEvents(db),
    newestMs: newestMs(db),
    tokens: listTokens(db),
    unfinishedErasureMs: unfinishedErasureMs(db),
    suggestion: suggestPrune(db, Date.now()) ?? null,
  };
}

function newestMs(db: Database): number | null {
  const damage = new Damage();
  const newest = db
    .prepare<[], ArrivalRow>(`SELECT ${ARRIVAL_COLUMNS} FROM event e ORDER BY e.seq DESC LIMIT 1`)
    .raw()
    .get();
  const event = newest && new ArrivalDecoder(db).event(newest, damage);
  if (damage.isFound) {
    throw new OperatorError(
      'The newest event cannot be read: keep a copy of the database, and restore a backup.',
    );
  }
  return event?.receivedMs ?? null;
}
