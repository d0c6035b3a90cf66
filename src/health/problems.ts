import { RESERVE_BYTES } from '../base/limits.ts';
import { DAY_MS } from '../base/units.ts';
import type { Validity } from '../host/tlsCertificate.ts';
import type { BackupFacts, BoxFacts, DaemonFacts, DiskFacts, ShipFacts, StoreFacts } from './facts.ts';
import type { LastingProblem } from './finding.ts';
import { isSoon, problem } from './problemTexts.ts';
import { isToldNow, sourceProblems } from './sourceProblems.ts';
import { THRESHOLDS } from './thresholds.ts';

/** What needs a person, each with what to do. A screen that cries wolf is read once: what passes by itself is not a problem. */

/** Senders whose refused events wait that are told, those with the most: a name may be anything that was sent. */
const WAITING_TOLD = 10;

/** @returns what is wrong, the worst first. */
export function findProblems({ daemon, hangs, store }: BoxFacts, nowMs: number): LastingProblem[] {
  const found = [
    ...(hangs === undefined ? [] : [problem('daemon_hangs', hangs.message)]),
    ...(daemon === undefined && hangs === undefined ? [problem('daemon_stopped')] : []),
    ...damageProblems(store, daemon),
    ...newDatabaseProblems(store),
    ...tokenProblems(store.tokens),
    ...(daemon === undefined
      ? []
      : [
          ...sourceProblems(daemon).filter((found) => isToldNow(found, daemon)),
          ...certificateProblems(daemon, nowMs),
        ]),
    ...store.refused.slice(0, WAITING_TOLD).map((waiting) => problem('refused_waiting', waiting)),
    ...diskProblems(store, daemon),
    ...backupProblems(store, nowMs),
    ...(store.unfinishedErasureMs === undefined
      ? []
      : [problem('erasure_unfinished', store.unfinishedErasureMs)]),
    ...(store.ship === undefined ? [] : shipProblems(store.ship)),
  ];
  return [...found.filter(({ level }) => level === 'fail'), ...found.filter(({ level }) => level === 'warn')];
}

export function damageProblems(
  { isDamaged }: Pick<StoreFacts, 'isDamaged'>,
  daemon: Pick<DaemonFacts, 'damage_reports'> | undefined,
): LastingProblem[] {
  return isDamaged || (daemon?.damage_reports ?? 0) > 0 ? [problem('database_damaged')] : [];
}

function newDatabaseProblems({ newMs, directory }: StoreFacts): LastingProblem[] {
  return newMs === undefined ? [] : [problem('new_database', directory, newMs / 1_000)];
}

export function tokenProblems({ active, retiring }: StoreFacts['tokens']): LastingProblem[] {
  return active === 0 && retiring === 0 ? [problem('no_token')] : [];
}

/** @param daemon where none answers, the disk is full when nothing is left but what a prune needs. */
export function diskProblems(
  { store, directory, room, hasPruneFailed, ...facts }: DiskFacts,
  daemon: Pick<DaemonFacts, 'is_full' | 'min_free_bytes'> | undefined,
): LastingProblem[] {
  const { free_bytes: freeBytes, days_left: days, wal_bytes } = store;
  const minFreeBytes = daemon?.min_free_bytes ?? facts.minFreeBytes;
  const found: LastingProblem[] = [];
  if (daemon?.is_full ?? freeBytes < RESERVE_BYTES) found.push(problem('disk_full', room));
  else if (freeBytes < minFreeBytes) found.push(problem('disk_low', { freeBytes, minFreeBytes, days, room }));
  else if (isSoon(days)) found.push(problem('disk_filling', freeBytes, days, room));
  if (hasPruneFailed) found.push(problem('prune_failed'));
  if (wal_bytes > THRESHOLDS.log_bytes.held) found.push(problem('log_held', directory, wal_bytes));
  return found;
}

export function certificateProblems(
  { certificate }: { readonly certificate: Validity | null },
  nowMs: number,
): LastingProblem[] {
  if (certificate === null) return [];
  const { valid_from, expires_at: at } = certificate;
  const leftMs = Date.parse(at) - nowMs;
  if (leftMs <= 0) return [problem('certificate_expired', at)];
  if (Date.parse(valid_from) > nowMs) return [problem('certificate_not_yet_valid', valid_from)];
  if (leftMs > THRESHOLDS.certificate_days * DAY_MS) return [];
  return [problem('certificate_expires', at, Math.floor(leftMs / DAY_MS))];
}

/** A slow link, or a night without one, is not a problem: it catches up by itself. */
export function shipProblems(ship: ShipFacts): LastingProblem[] {
  const { url, isSetUp, running, state, error, behind_s } = ship;
  if (!isSetUp) return [];
  const sentence = error ?? 'No events of this box are shipped.';
  if (state === 'fenced') return [problem('ship_fenced', sentence)];
  if (state === 'refused') return [problem('ship_refused', sentence)];
  const behindS = behind_s ?? 0;
  if (!running && behindS > THRESHOLDS.ship_stopped_s) return [problem('ship_stopped', behindS)];
  // A copy is on the box itself: what keeps it from being written does not pass like a line that is down.
  const isCopy = url?.startsWith('file:') === true;
  const isBehind = behindS > (isCopy ? THRESHOLDS.copy_behind_s : THRESHOLDS.ship_behind_s);
  const isKept = isCopy && state !== 'current' && error !== null;
  return isBehind || isKept ? [problem('ship_behind', behindS, error, isCopy)] : [];
}

/** A box that has not had events for so long has nothing that is so long without a copy. */
export function backupProblems(
  { store, oldestMs, hasBackupFailed }: BackupFacts,
  nowMs: number,
): LastingProblem[] {
  const lastMs = store.last_backup_at === null ? undefined : Date.parse(store.last_backup_at);
  const ageS = lastMs === undefined ? undefined : Math.max(0, nowMs - lastMs) / 1_000;
  if (hasBackupFailed) return [problem('backup_failed', ageS)];
  const since = Math.max(lastMs ?? 0, oldestMs ?? nowMs);
  return nowMs - since > THRESHOLDS.backup_s * 1_000 ? [problem('no_backup', ageS)] : [];
}
