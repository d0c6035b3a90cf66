import { RESERVE_BYTES } from '../base/limits.ts';
import { span } from '../base/units.ts';
import type { Validity } from '../host/tlsCertificate.ts';
import type { RefusalReport } from '../telemetry/refusalBook.ts';
import type { SourceReport } from '../telemetry/sourceTable.ts';
import type { BackupFacts, BoxFacts, DaemonFacts, DiskFacts, ShipFacts, StoreFacts } from './facts.ts';
import type { StatusProblem } from './finding.ts';
import { isSoon, problem } from './rules.ts';
import { THRESHOLDS } from './thresholds.ts';

/** What needs a person, each with what to do. A screen that cries wolf is read once: what passes by itself is not a problem. */

const DAY_MS = 86_400_000;

type RefusalCode = RefusalReport['code'];

const LOST = 'Tell the vendor of the camera what is wrong: until that is fixed, these events are lost.';
const WRONG = 'Tell the vendor of the camera what is wrong.';
/** What to do about refusals that a person can do something about; those that are not here pass by themselves. */
const REFUSALS: Partial<Record<RefusalCode, string>> = {
  invalid_event: LOST,
  invalid_json: LOST,
  invalid_encoding: LOST,
  too_deep: LOST,
  too_many_events: 'Tell the vendor of the camera to send at most 500 events in a request.',
  body_too_large: 'Have the camera send smaller requests, or raise COURTD_BODY_LIMIT.',
  unsupported_media_type: WRONG,
  unsupported_encoding: WRONG,
  not_found: 'Look at the address that this camera was given: it ends in /v1/events.',
  method_not_allowed: 'Look at the address that this camera was given, and tell its vendor.',
  expectation_failed: WRONG,
  internal_error: 'A bug in courtd: please report it, with the log ("journalctl -u courtd").',
  rate_limited: 'Have the camera send more events in a request, or raise COURTD_RATE_LIMIT.',
};

/** @returns what is wrong, the worst first. */
export function findProblems({ daemon, hangs, store }: BoxFacts, nowMs: number): StatusProblem[] {
  const found = [
    ...(hangs === undefined ? [] : [problem('daemon_hangs', hangs.message)]),
    ...(daemon === undefined && hangs === undefined ? [problem('daemon_stopped')] : []),
    ...damageProblems(store, daemon),
    ...newDatabaseProblems(store),
    ...tokenProblems(store.tokens),
    ...(daemon === undefined ? [] : [...sourceProblems(daemon), ...certificateProblems(daemon, nowMs)]),
    ...diskProblems(store, daemon),
    ...backupProblems(store, nowMs),
    ...(store.ship === undefined ? [] : shipProblems(store.ship)),
  ];
  return [...found.filter(({ level }) => level === 'fail'), ...found.filter(({ level }) => level === 'warn')];
}

export function damageProblems(
  { isDamaged }: Pick<StoreFacts, 'isDamaged'>,
  daemon: Pick<DaemonFacts, 'damage_reports'> | undefined,
): StatusProblem[] {
  return isDamaged || (daemon?.damage_reports ?? 0) > 0 ? [problem('database_damaged')] : [];
}

function newDatabaseProblems({ newMs, directory }: StoreFacts): StatusProblem[] {
  return newMs === undefined ? [] : [problem('new_database', directory, newMs / 1_000)];
}

export function tokenProblems({ active, retiring }: StoreFacts['tokens']): StatusProblem[] {
  return active === 0 && retiring === 0 ? [problem('no_token')] : [];
}

/** @param daemon where none answers, the disk is full when nothing is left but what a prune needs. */
export function diskProblems(
  { store, directory, room, hasPruneFailed, ...facts }: DiskFacts,
  daemon: Pick<DaemonFacts, 'is_full' | 'min_free_bytes'> | undefined,
): StatusProblem[] {
  const { free_bytes: freeBytes, days_left: days, wal_bytes } = store;
  const minFreeBytes = daemon?.min_free_bytes ?? facts.minFreeBytes;
  const found: StatusProblem[] = [];
  if (daemon?.is_full ?? freeBytes < RESERVE_BYTES) found.push(problem('disk_full', room));
  else if (freeBytes < minFreeBytes) found.push(problem('disk_low', { freeBytes, minFreeBytes, days, room }));
  else if (isSoon(days)) found.push(problem('disk_filling', freeBytes, days, room));
  if (hasPruneFailed) found.push(problem('prune_failed'));
  if (wal_bytes > THRESHOLDS.log_bytes.held) found.push(problem('log_held', directory, wal_bytes));
  return found;
}

/** Each source once for each kind of problem. */
function sourceProblems({ sources, refusals }: DaemonFacts): StatusProblem[] {
  return [
    ...sources
      .filter(({ state }) => state === 'silent')
      .map((source) => problem('source_silent', source, source.quiet_s ?? 0)),
    ...refusalProblems(refusals, sources),
    ...clockProblems(sources),
    ...sources
      .filter(({ odd_fields }) => odd_fields.length > 0)
      .map((source) => problem('odd_payload', source, source.odd_fields)),
  ];
}

/** @param offset the camera's clock less the box's, in seconds; null where it is not known. */
export function isClockOff(offset: number | null): offset is number {
  return offset !== null && Math.abs(offset) > THRESHOLDS.clock_s;
}

function clockProblems(sources: readonly SourceReport[]): StatusProblem[] {
  const known = sources.filter(({ clock_offset_s }) => clock_offset_s !== null);
  const off = known.filter(({ clock_offset_s }) => isClockOff(clock_offset_s));
  const offsets = off.map(({ clock_offset_s }) => clock_offset_s!);
  const areAlike =
    off.length === known.length && Math.max(...offsets) - Math.min(...offsets) <= THRESHOLDS.clock_s;
  const alike =
    known.length === 1
      ? ' It is the only source there is to compare with, so it may be the clock of the box.'
      : ' All sources are off alike: it may be the clock of the box.';
  return off.map((source, i) => problem('clock_off', source, offsets[i]!, areAlike ? alike : ''));
}

/** One for each camera and code; where the camera could not be told, for its address, with the sources that are known there. */
function refusalProblems(
  refusals: readonly RefusalReport[],
  sources: readonly SourceReport[],
): StatusProblem[] {
  const found: StatusProblem[] = [];
  for (const { code, client, source, court_id, requests, ago_s, is_over, error } of refusals) {
    const at = sources.filter((one) => one.client === client).map((one) => one.source);
    const from = source === null ? nameOf(client, at) : `${source} on ${court_id ?? '?'}`;
    const times = `refused ${requests === 1 ? 'once' : `${requests} times`}, last ${span(ago_s)} ago`;
    if (code === 'unauthorized') {
      const hasToken = is_over && ago_s > THRESHOLDS.token_s;
      if (!hasToken) found.push(problem('token_refused', from, times));
      continue;
    }
    const advice = REFUSALS[code];
    if (advice === undefined || (code === 'rate_limited' && requests < THRESHOLDS.rate_limited)) continue;
    found.push(problem('refused', from, times, error, advice, code === 'internal_error'));
  }
  return found;
}

/** @param sources a name for each court that it sends from. */
function nameOf(client: string, sources: readonly string[]): string {
  const names = [...new Set(sources)];
  const some = names.slice(0, 2).join(', ');
  return names.length === 0 ? client : `${client} (${some}${names.length > 2 ? ', ...' : ''})`;
}

export function certificateProblems(
  { certificate }: { readonly certificate: Validity | null },
  nowMs: number,
): StatusProblem[] {
  if (certificate === null) return [];
  const { valid_from, expires_at: at } = certificate;
  const leftMs = Date.parse(at) - nowMs;
  if (leftMs <= 0) return [problem('certificate_expired', at)];
  if (Date.parse(valid_from) > nowMs) return [problem('certificate_not_yet_valid', valid_from)];
  if (leftMs > THRESHOLDS.certificate_days * DAY_MS) return [];
  return [problem('certificate_expires', at, Math.floor(leftMs / DAY_MS))];
}

/** A slow link, or a night without one, is not a problem: it catches up by itself. */
export function shipProblems({ isSetUp, running, state, error, behind_s }: ShipFacts): StatusProblem[] {
  if (!isSetUp) return [];
  const sentence = error ?? 'Headquarters gets no events from this box.';
  if (state === 'fenced') return [problem('ship_fenced', sentence)];
  if (state === 'refused') return [problem('ship_refused', sentence)];
  const behindS = behind_s ?? 0;
  if (!running && behindS > THRESHOLDS.ship_stopped_s) return [problem('ship_stopped', behindS)];
  return behindS > THRESHOLDS.ship_behind_s ? [problem('ship_behind', behindS, error)] : [];
}

/** A box that has not had events for so long has nothing that is so long without a copy. */
export function backupProblems(
  { store, oldestMs, hasBackupFailed }: BackupFacts,
  nowMs: number,
): StatusProblem[] {
  const lastMs = store.last_backup_at === null ? undefined : Date.parse(store.last_backup_at);
  const ageS = lastMs === undefined ? undefined : Math.max(0, nowMs - lastMs) / 1_000;
  if (hasBackupFailed) return [problem('backup_failed', ageS)];
  const since = Math.max(lastMs ?? 0, oldestMs ?? nowMs);
  return nowMs - since > THRESHOLDS.backup_s * 1_000 ? [problem('no_backup', ageS)] : [];
}
