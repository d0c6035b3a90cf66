import type { StatusProblem } from '../../base/finding.ts';
import {
  CERTIFICATE_WARN_DAYS,
  CLOCK_OFF_S,
  MIN_FREE_BYTES,
  WAL_MAX_BYTES,
  WAL_WARN_BYTES,
} from '../../base/limits.ts';
import type { DaemonStatus } from '../../control/daemonStatus.ts';
import type { ShipView } from '../../ship/feed/shipStatus.ts';
import type { RefusalReport } from '../../telemetry/refusalBook.ts';
import { DAMAGED, RESTORE } from '../checks/database.ts';
import { roomAdvice } from '../checks/disk.ts';
import { counted } from '../terminal/output.ts';
import { bytesFor, span } from '../terminal/units.ts';
import type { DaemonView, StoreView } from './views.ts';

/** What needs a person, each with what to do. A screen that cries wolf is read once: what passes by itself is not a problem. */

const DAY_MS = 86_400_000;
/** Clocks that differ by no more than this may be right, and the box's is not. */
const ALIKE_S = 2;
const BACKUP_MS = 7 * DAY_MS;
const DAYS_LEFT = 14;
/** Seconds: a shipper may be restarted, and the link may be down for some hours. */
const SHIP_STOPPED_S = 300;
const SHIP_LATE_S = 6 * 3_600;
/** A camera without a valid token tries every half minute: one that has not tried for so long, and was served since, has got its token. */
const TOKEN_PROBLEM_S = 600;
/** Requests a day that were too many for the rate limit: fewer are made up for by the next try. */
const RATE_LIMITED = 100;

type RefusalCode = RefusalReport['code'];

const LOST = 'Tell the vendor of the camera what is wrong: until that is fixed, these events are lost.';
const WRONG = 'Tell the vendor of the camera what is wrong.';
/** What to do about refusals that a person can do something about; those that are not here pass by themselves. */
const ADVICE: Partial<Record<RefusalCode, string>> = {
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

const SEEN = 'Each request: "courtd rejections".';

/** @returns what is wrong, the worst first. */
export function findProblems(
  { daemon, hangs }: DaemonView,
  store: StoreView,
  nowMs: number,
): StatusProblem[] {
  const found = [
    ...(hangs === undefined ? [] : [fail('daemon_hangs', hangs.message, RESTART)]),
    ...(daemon === undefined && hangs === undefined ? [STOPPED] : []),
    ...(store.isDamaged || (daemon?.damage_reports ?? 0) > 0
      ? [fail('database_damaged', DAMAGED, RESTORE)]
      : []),
    ...newDatabaseProblems(store),
    ...tokenProblems(store),
    ...(daemon === undefined ? [] : [...sourceProblems(daemon), ...certificateProblems(daemon, nowMs)]),
    ...diskProblems(daemon, store),
    ...backupProblems(store, nowMs),
    ...shipProblems(store.ship),
  ];
  return [...found.filter(({ level }) => level === 'fail'), ...found.filter(({ level }) => level === 'warn')];
}

function warn(code: string, message: string, advice: string): StatusProblem {
  return { code, level: 'warn', message, advice };
}

function fail(code: string, message: string, advice: string): StatusProblem {
  return { code, level: 'fail', message, advice };
}

const FENCED = 'Do what the message says; "courtd ship status" shows more.';
const RESTART = 'If that lasts, restart it: "sudo systemctl restart courtd".';
const STOPPED = fail(
  'daemon_stopped',
  'The daemon does not run: no event is taken.',
  'Start it ("sudo systemctl start courtd.socket courtd.service"), and look at its log ("journalctl -u courtd").',
);

function newDatabaseProblems({ newMs, directory }: StoreView): StatusProblem[] {
  if (newMs === undefined) return [];
  const message = `${directory} is new: there was no database in it ${span(newMs / 1_000)} ago. Is its disk mounted?`;
  const advice =
    'Where the box itself is new, all is well: this is over after a day. Else stop courtd, and mount its disk.';
  return [warn('new_database', message, advice)];
}

function tokenProblems({ tokens }: StoreView): StatusProblem[] {
  if (tokens.active !== 0 || tokens.retiring !== 0) return [];
  const message = 'There is no token: every request is refused.';
  return [fail('no_token', message, 'Make one with "courtd token rotate", and give it to every camera.')];
}

function diskProblems(daemon: DaemonStatus | undefined, view: StoreView): StatusProblem[] {
  const { store, directory } = view;
  const found: StatusProblem[] = [];
  const { free_bytes: free, days_left: days } = store;
  const left = days === null || days >= DAYS_LEFT ? '' : `, for about ${counted(days, 'day')}`;
  const advice = roomAdvice(view.suggestion, store.bytes, view.previousBytes);
  if (daemon?.is_full) {
    found.push(fail('disk_full', 'The disk is full: events are refused.', advice));
  } else if (free < (daemon?.min_free_bytes ?? MIN_FREE_BYTES)) {
    const message = `The disk is nearly full: ${bytesFor(free)} are left${left}.`;
    found.push(warn('disk_low', message, advice));
  } else if (days !== null && days < DAYS_LEFT) {
    const message = `The disk will be full in about ${counted(days, 'day')}: ${bytesFor(free)} are left.`;
    found.push(warn('disk_filling', message, advice));
  }
  if (view.hasPruneFailed) {
    const message =
      'The nightly prune has failed: events stay for longer than they should, and the disk fills.';
    const advice =
      '"journalctl -u courtd-prune" says why; "sudo systemctl start courtd-prune" tries it again.';
    found.push(warn('prune_failed', message, advice));
  }
  if (store.wal_bytes > WAL_WARN_BYTES) {
    const message = `Another program reads the database and does not end: the write-ahead log has grown to ${bytesFor(store.wal_bytes)}, and at ${bytesFor(WAL_MAX_BYTES)} events are refused.`;
    found.push(warn('log_held', message, `"sudo fuser -v ${directory}/courtd.db" names it: end it.`));
  }
  return found;
}

/** Each source once for each kind of problem. */
function sourceProblems({ sources, refusals }: DaemonStatus): StatusProblem[] {
  const silent = sources
    .filter(({ state }) => state === 'silent')
    .map(({ source, court_id, client, quiet_s }) =>
      warn(
        'source_silent',
        `${source} on ${court_id}: silent for ${span(quiet_s ?? 0)} while its court plays.`,
        `Look at its power and its cable${client === null ? '' : `; is it there? "ping ${client}"`}.`,
      ),
    );
  return [
    ...silent,
    ...refusalProblems(refusals, sources),
    ...clockProblems(sources),
    ...sources.filter(({ odd_fields }) => odd_fields.length > 0).map(oddPayload),
  ];
}

function oddPayload({ source, court_id, odd_fields }: DaemonStatus['sources'][number]): StatusProblem {
  const message = `${source} on ${court_id} sends ${odd_fields.join(', ')}.`;
  const advice =
    'Tell the vendor of the camera: the events are stored as they came, but the columns of these fields are empty, or have their text.';
  return warn('odd_payload', message, advice);
}

function clockProblems(sources: DaemonStatus['sources']): StatusProblem[] {
  const known = sources.flatMap((source) =>
    source.clock_offset_s === null ? [] : [{ ...source, off: source.clock_offset_s }],
  );
  const off = known.filter((source) => Math.abs(source.off) > CLOCK_OFF_S);
  const offsets = off.map((source) => source.off);
  const areAlike =
    off.length > 0 && off.length === known.length && Math.max(...offsets) - Math.min(...offsets) <= ALIKE_S;
  return off.map((source) => {
    const which = source.off < 0 ? 'behind' : 'ahead';
    const box = areAlike
      ? known.length === 1
        ? ' It is the only source there is to compare with, so it may be the clock of the box.'
        : ' All sources are off alike: it may be the clock of the box.'
      : '';
    return warn(
      'clock_off',
      `The clock of ${source.source} on ${source.court_id} is ${span(Math.abs(source.off))} ${which}.${box}`,
      areAlike
        ? 'Look at the clock of the box first ("timedatectl"), then at that of the camera.'
        : 'Set its clock, or better give it a time server (NTP).',
    );
  });
}

/** One for each camera and code; where the camera could not be told, for its address, with the sources that are known there. */
function refusalProblems(
  refusals: readonly RefusalReport[],
  sources: DaemonStatus['sources'],
): StatusProblem[] {
  const found: StatusProblem[] = [];
  for (const { code, client, source, court_id, requests, ago_s, is_over, error } of refusals) {
    const at = sources.filter((one) => one.client === client).map((one) => one.source);
    const from = source === null ? nameOf(client, at) : `${source} on ${court_id ?? '?'}`;
    const times = `refused ${requests === 1 ? 'once' : `${requests} times`}, last ${span(ago_s)} ago`;
    if (code === 'unauthorized') {
      if (is_over && ago_s > TOKEN_PROBLEM_S) continue;
      found.push(
        warn(
          'token_refused',
          `${from} has no valid token: ${times}.`,
          'Give it the token of the venue; "courtd rejections" shows each request.',
        ),
      );
      continue;
    }
    const advice = ADVICE[code];
    if (advice === undefined || (code === 'rate_limited' && requests < RATE_LIMITED)) continue;
    // Without the error, in `courtd support`.
    const message = `${from}: ${times}. ${error}`.trimEnd();
    const finding = code === 'internal_error' ? fail : warn;
    found.push(finding('refused', message, `${advice} ${SEEN}`));
  }
  return found;
}

/** @param sources a name for each court that it sends from. */
function nameOf(client: string, sources: readonly string[]): string {
  const names = [...new Set(sources)];
  const some = names.slice(0, 2).join(', ');
  return names.length === 0 ? client : `${client} (${some}${names.length > 2 ? ', ...' : ''})`;
}

function certificateProblems({ certificate }: DaemonStatus, nowMs: number): StatusProblem[] {
  if (certificate === null) return [];
  const advice = 'Replace it, and reload courtd: "sudo systemctl reload courtd".';
  const leftMs = Date.parse(certificate.expires_at) - nowMs;
  if (leftMs <= 0) {
    return [fail('certificate_expired', 'The TLS certificate has expired: cameras refuse it.', advice)];
  }
  if (Date.parse(certificate.valid_from) > nowMs) {
    const message = 'The TLS certificate is not valid yet: cameras refuse it.';
    return [fail('certificate_not_yet_valid', message, 'Look at the clock of the box: "timedatectl".')];
  }
  if (leftMs > CERTIFICATE_WARN_DAYS * DAY_MS) return [];
  const message = `The TLS certificate expires in ${counted(Math.floor(leftMs / DAY_MS), 'day')}.`;
  return [warn('certificate_expires', message, advice)];
}

/** A slow link, or a night without one, is not a problem: it catches up by itself. */
function shipProblems({ isSetUp, running, state, error, behind_s }: ShipView): StatusProblem[] {
  if (!isSetUp) return [];
  const sentence = error ?? 'Headquarters gets no events from this box.';
  if (state === 'fenced') return [fail('ship_fenced', sentence, FENCED)];
  if (state === 'refused') return [fail('ship_refused', sentence, 'Until then the box keeps its events.')];
  const late = behind_s ?? 0;
  if (!running && late > SHIP_STOPPED_S) {
    const message = `No shipper runs: events of the last ${span(late)} have not been shipped.`;
    return [warn('ship_stopped', message, 'Start it: "sudo systemctl start courtd-ship".')];
  }
  if (late <= SHIP_LATE_S) return [];
  const message = `Headquarters is ${span(late)} behind. ${error ?? ''}`.trimEnd();
  return [warn('ship_behind', message, 'Check the link to headquarters; the box keeps its events.')];
}

/** A box that has taken events for less than a week has nothing that is so long without a copy. */
function backupProblems({ store, oldestMs, hasBackupFailed }: StoreView, nowMs: number): StatusProblem[] {
  const last = store.last_backup_at === null ? undefined : Date.parse(store.last_backup_at);
  if (hasBackupFailed) {
    const before =
      last === undefined ? 'there is none' : `the newest one is ${span((nowMs - last) / 1_000)} old`;
    const advice = '"courtd check" says what it finds, and "journalctl -u courtd-backup" what happened.';
    return [warn('backup_failed', `The nightly backup has failed: ${before}.`, advice)];
  }
  const since = Math.max(last ?? 0, oldestMs ?? nowMs);
  if (nowMs - since <= BACKUP_MS) return [];
  const ago =
    last === undefined
      ? 'There has never been a backup'
      : `The last backup was ${span((nowMs - last) / 1_000)} ago`;
  const advice = 'Set COURTD_BACKUP_DIR to another disk, or run "courtd backup DIR" now.';
  return [warn('no_backup', `${ago}: if the disk fails, all since then is lost.`, advice)];
}
