import type { DataDirectory } from '../base/dataDirectory.ts';
import { RESERVE_BYTES } from '../base/limits.ts';
import { OperatorError } from '../base/operatorError.ts';
import { failureKind } from '../store/db/sqliteErrors.ts';
import { withDatabase } from '../store/db/withDatabase.ts';
import type { ShipStatus, Status } from './boxStatus.ts';
import { type BoxFacts, findProblems } from './findProblems.ts';
import { problem } from './problems.ts';
import { readStoreFacts } from './storeFacts.ts';

/** @param nowMs by the box's clock. */
export function makeStatus(facts: BoxFacts, nowMs: number): Status {
  const { daemon, rates, store, copy } = facts;
  const { isSetUp = false, running: _, ...ship } = facts.ship ?? {};
  const problems = findProblems(facts, nowMs);
  const { version, started_at, listening, tls } = daemon;
  const isFailing = problems.some(({ level }) => level === 'fail');
  return {
    state: isFailing ? 'failing' : problems.length > 0 ? 'attention' : 'ok',
    problems,
    daemon: { running: true, version, started_at, listening, tls },
    store: store.store,
    copy: copy ?? null,
    ship: isSetUp ? (ship as ShipStatus) : null,
    tokens: store.tokens,
    rates,
    sources: facts.sources.map(({ quiet_s, missing_s, odd_fields, odd_times, ...source }) => source),
  };
}

/**
 * What a box shows without an answer of its daemon: events, sessions, bytes, free space and the last backup.
 * @param isRunning whether a daemon holds the data directory.
 * @throws {OperatorError} if there is no database, or this user may not read it.
 */
export async function statusWithoutDaemon(data: DataDirectory, isRunning: boolean): Promise<Status> {
  const facts = await withDatabase({ data }, (db) => readStoreFacts(data, db)).catch((error) => {
    const cause = error instanceof OperatorError ? error.cause : error;
    if (failureKind(cause) !== 'damaged') throw error;
    return readStoreFacts(data, undefined);
  });
  return {
    state: isRunning ? 'failing' : 'stopped',
    problems: [
      problem(isRunning ? 'daemon_hangs' : 'daemon_stopped'),
      ...(facts.isDamaged ? [problem('damage')] : []),
      ...(facts.store.free_bytes < RESERVE_BYTES ? [problem('disk_full', facts.oldestDays)] : []),
    ],
    daemon: { running: isRunning, version: null, started_at: null, listening: null, tls: null },
    store: facts.store,
    copy: null,
    ship: null,
    tokens: { active: null, retiring: null },
    rates: {
      events_last_minute: null,
      events_last_hour: null,
      events_last_day: null,
      requests_last_minute: null,
      refused_last_minute: null,
    },
    sources: [],
  };
}
