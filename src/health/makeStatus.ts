import type { DataDirectory } from '../base/dataDirectory.ts';
import { WAL_WARN_BYTES } from '../base/limits.ts';
import { DAY_MS } from '../base/units.ts';
import type { Validity } from '../host/tlsCertificate.ts';
import { withDatabase } from '../store/db/openDatabase.ts';
import type { CopyStatus, ShipStatus, Status } from './boxStatus.ts';
import { problem, type StatusProblem } from './problems.ts';
import { type SourceFindings, sourceProblems } from './sourceProblems.ts';
import { readStoreFacts, type StoreFacts } from './storeFacts.ts';
import type { StoreWatch } from './storeWatch.ts';
import { THRESHOLDS } from './thresholds.ts';

/** All that the daemon judges a box by. */
export interface BoxFacts extends SourceFindings, Pick<StoreWatch, 'isFull' | 'isDamaged'> {
  readonly daemon: Status['daemon'];
  readonly certificate: Validity | null;
  /** Free space that the operator wants; 0: any. */
  readonly minFreeBytes: number;
  readonly store: StoreFacts;
  /** Null: none is set up; undefined: not known. */
  readonly copy: CopyStatus | null | undefined;
  readonly ship: ShipStatus | null | undefined;
}

/** @param nowMs by the box's clock. */
export function makeStatus(facts: BoxFacts, nowMs: number): Status {
  const { daemon, rates, copy = null, ship = null, sources } = facts;
  const { store, tokens } = facts.store;
  const problems = findProblems(facts, nowMs);
  const isFailing = problems.some(({ level }) => level === 'fail');
  return {
    state: isFailing ? 'failing' : problems.length > 0 ? 'attention' : 'ok',
    problems,
    ...{ daemon, store, copy, ship, tokens, rates },
    sources: sources.map(({ quiet_s, missing_s, odd_fields, odd_times, ...source }) => source),
  };
}

/**
 * What a box shows without an answer of its daemon: events, sessions, bytes, free space and the last backup.
 * @param isRunning whether a daemon holds the data directory.
 * @throws {OperatorError} if there is no database, it is damaged, or this user may not read it.
 */
export async function statusWithoutDaemon(data: DataDirectory, isRunning: boolean): Promise<Status> {
  const facts = await withDatabase({ data }, (db) => readStoreFacts(data, db));
  return {
    state: isRunning ? 'failing' : 'stopped',
    problems: [
      problem(isRunning ? 'daemon_hangs' : 'daemon_stopped'),
      ...(facts.isDamaged ? [problem('damage')] : []),
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

/** @returns what needs a person, the worst first. A fault that ends by itself is not a problem. */
export function findProblems(facts: BoxFacts, nowMs: number): StatusProblem[] {
  const { store, certificate, copy, ship } = facts;
  const { tokens, erasureMs, isDamaged } = store;
  const found = [
    ...(isDamaged || facts.isDamaged ? [problem('damage')] : []),
    ...(tokens.active === 0 && tokens.retiring === 0 ? [problem('no_token')] : []),
    ...sourceProblems(facts),
    ...certificateProblems(certificate, nowMs),
    ...diskProblems(store, facts),
    ...backupProblems(store, nowMs),
    ...(erasureMs === undefined ? [] : [problem('erasure_unfinished', erasureMs)]),
    ...(copy ? copyProblems(copy) : []),
    ...(ship ? shipProblems(ship) : []),
  ];
  return [...found.filter(({ level }) => level === 'fail'), ...found.filter(({ level }) => level === 'warn')];
}

function diskProblems(
  { store, directory, oldestDays }: StoreFacts,
  { isFull, minFreeBytes }: Pick<BoxFacts, 'isFull' | 'minFreeBytes'>,
): StatusProblem[] {
  const { free_bytes: free, days_left: days, wal_bytes } = store;
  const found: StatusProblem[] = [];
  if (isFull) found.push(problem('disk_full', oldestDays));
  else if (free < minFreeBytes) found.push(problem('disk_low', free, minFreeBytes, oldestDays));
  else if (days !== null && days < THRESHOLDS.filling_days)
    found.push(problem('disk_filling', free, days, oldestDays));
  if (wal_bytes > WAL_WARN_BYTES) found.push(problem('log_held', directory, wal_bytes));
  return found;
}

export function certificateProblems(certificate: Validity | null, nowMs: number): StatusProblem[] {
  if (certificate === null) return [];
  const { expires_at: at } = certificate;
  const leftMs = Date.parse(at) - nowMs;
  if (leftMs <= 0) return [problem('certificate_expired', at)];
  if (leftMs > THRESHOLDS.certificate_days * DAY_MS) return [];
  return [problem('certificate_expires', at, Math.floor(leftMs / DAY_MS))];
}

/** A slow link, or a night without one, is not a problem: it catches up by itself. */
function shipProblems({ state, error, behind_s }: ShipStatus): StatusProblem[] {
  const sentence = error ?? 'no events of this box are shipped.';
  if (state === 'fenced') return [problem('ship_fenced', sentence)];
  if (state === 'refused') return [problem('ship_refused', sentence)];
  const behindS = behind_s ?? 0;
  return behindS > THRESHOLDS.ship_behind_s ? [problem('ship_behind', behindS, error)] : [];
}

/** A copy is on the box itself: a fault that stops it does not end by itself, unlike a line that is down. */
function copyProblems({ place, behind_s, error }: CopyStatus): StatusProblem[] {
  const behindS = behind_s ?? 0;
  const isBehind = behindS > THRESHOLDS.copy_behind_s || error !== null;
  return isBehind ? [problem('copy_behind', place, behindS, error)] : [];
}

/** A box that has not had events for so long has nothing that is so long without a copy. */
function backupProblems({ store, failedBackup, oldestDays = 0 }: StoreFacts, nowMs: number): StatusProblem[] {
  if (failedBackup !== undefined)
    return [problem('backup_failed', (nowMs - failedBackup.ms) / 1_000, failedBackup.result)];
  const { last_backup_at: last } = store;
  const ageS = last === null ? Number.POSITIVE_INFINITY : Math.max(0, nowMs - Date.parse(last)) / 1_000;
  const isDue = Math.min(ageS, (oldestDays * DAY_MS) / 1_000) > THRESHOLDS.backup_s;
  return isDue ? [problem('no_backup', ageS)] : [];
}
