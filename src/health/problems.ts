import { WAL_MAX_BYTES } from '../base/limits.ts';
import { bytesFor, counted, isoTime, span } from '../base/units.ts';
import { shellWord } from '../base/visibleText.ts';
import type { ProblemCode as ErrorCode } from '../protocol/errors.ts';

/**
 * The only table of what can be wrong with a box: code, level, message and advice, for `status`, `check`, `support`, the log, the
 * alert and the metrics. A message names its source, and quotes nothing that a camera has sent but the names of sources and courts.
 */

/** What needs a person, as `courtd status --json` prints it. */
export interface StatusProblem {
  readonly code: string;
  readonly level: 'warn' | 'fail';
  /** What was found, in a sentence. */
  readonly message: string;
  readonly advice: string;
}

type Text = readonly [message: string, advice: string];
const warn = <Facts extends unknown[]>(text: (...facts: Facts) => Text) => ({ level: 'warn', text }) as const;
const fail = <Facts extends unknown[]>(text: (...facts: Facts) => Text) => ({ level: 'fail', text }) as const;

interface Camera {
  readonly source: string;
  readonly court_id: string;
  readonly client: string | null;
}

/** The rejected requests of one sender. */
export interface Rejected {
  readonly sender: string;
  /** How people know it. */
  readonly from: string;
  /** The last one within an hour, and how many there were in a day; undefined if only kept events are left. */
  readonly last: { readonly code: ErrorCode; readonly requests: number; readonly agoS: number } | undefined;
  /** Events that are kept until they are stored or dropped. */
  readonly events: number;
}

const nameOf = ({ source, court_id }: Pick<Camera, 'source' | 'court_id'>) => `${source} on ${court_id}`;
const lookAt = (client: string | null) =>
  client === null
    ? 'Check the power and the cable of this camera.'
    : `Check the power and the cable of this camera, then run "ping ${client}".`;
const RENEW = 'Replace the certificate files, then run "sudo systemctl reload courtd".';

export const BOX_PROBLEMS = {
  daemon_stopped: fail(() => [
    'The daemon does not run, so no events are accepted.',
    'Run "sudo systemctl start courtd.socket courtd.service", or "courtd serve" if systemd does not run it. If it stops again, "journalctl -u courtd" shows why.',
  ]),
  daemon_hangs: fail(() => [
    'The daemon does not answer: it is starting, or its disk is stalled.',
    'Wait 30 s and run "courtd status" again. If it still hangs, look for disk errors with "dmesg", then run "sudo systemctl restart courtd".',
  ]),
  damage: fail(() => [
    'Part of the database is damaged. Requests that need that part are answered with 503.',
    'Check the disk with "dmesg". "sudo courtd check --full" counts what is damaged, and exports name it. Stop courtd and restore a backup: "sudo courtd restore FILE --salvage".',
  ]),
  no_token: fail(() => [
    'There is no valid token, so every request is rejected.',
    'Run "sudo courtd token rotate", and give the new token to every camera.',
  ]),
  old_token: warn((id: number, endsInS: number, users: string) => [
    `Token ${id} ends in ${span(endsInS)}, and ${users} still use it.`,
    'Give these cameras the newest token before that. After that their requests are rejected. "sudo courtd token list" shows when each token ends.',
  ]),
  token_refused: warn((from: string, requests: number, agoS: number) => [
    `${from} sent ${counted(requests, 'request')} without a valid token, the last one ${span(agoS)} ago.`,
    'Give this camera the newest token of the venue. If nobody has it, make a new one with "sudo courtd token rotate".',
  ]),
  refused: warn(({ sender, from, last, events }: Rejected) => {
    const rejected =
      last &&
      `${counted(last.requests, 'request')} of the last day rejected, the last one ${span(last.agoS)} ago (${last.code})`;
    const kept = events > 0 && `${counted(events, 'rejected event')} kept, and not stored yet`;
    const next = kept
      ? `Run "sudo courtd rejections export --source ${shellWord(sender)} -o rejected.ndjson", correct the file and run "sudo courtd import rejected.ndjson". To delete them instead, run "sudo courtd rejections drop ID" for each ID that "courtd rejections" lists.`
      : 'Run "courtd rejections" to see each request.';
    const advice = [last && REJECTED[last.code], next].filter(Boolean).join(' ');
    return [`${from}: ${[rejected, kept].filter(Boolean).join('; ')}.`, advice];
  }),
  bug: fail((from: string, requests: number) => [
    `${from}: ${counted(requests, 'request')} failed because of an error in courtd.`,
    'Run "sudo courtd support -o support.txt", and send the file to the developers of courtd.',
  ]),
  source_silent: warn((from: string, client: string | null, quietS: number, isMissing: boolean) => [
    isMissing
      ? `${from}: no events and no empty arrays for ${span(quietS)}.`
      : `${from}: no events for ${span(quietS)}, while another source of its court sends.`,
    lookAt(client),
  ]),
  source_overdue: warn((camera: Camera, quietS: number) => [
    `${nameOf(camera)}: no events for ${span(quietS)}, while other sources sent on more than 7 days.`,
    `${lookAt(camera.client)} If it was removed, do nothing: courtd forgets it after 30 such days.`,
  ]),
  quiet: warn((forS: number, sources: number) => [
    `All ${sources} sources stopped within the same minute, and nothing has come for ${span(forS)}.`,
    'Check the power of the network switch, and its cable to this box. If all courts stopped playing, do nothing.',
  ]),
  conflicts: warn((camera: Camera, events: number) => [
    `${nameOf(camera)} sent ${counted(events, 'event')} again with other content. The first version stays.`,
    'Run "courtd conflicts" to see both versions, and send them to the vendor of the camera: a correction needs a higher revision, and two cameras must not use the same event_id.',
  ]),
  clock_off: warn((camera: Camera, offS: number, areAlike: boolean) => [
    `The clock of ${nameOf(camera)} is ${span(Math.abs(offS))} ${offS < 0 ? 'behind' : 'ahead'}.${areAlike ? ' No source has another time, so it may be the clock of the box.' : ''}`,
    areAlike
      ? 'Check the clock of the box with "timedatectl" first, then that of the camera.'
      : 'Give the camera a time server (NTP), or set its clock.',
  ]),
  odd_payload: warn((camera: Camera, fields: readonly string[]) => [
    `${nameOf(camera)} sends ${fields.join(', ')}.`,
    'Tell the vendor of the camera. The events are stored as they came, but an export has an empty column or a text for these fields.',
  ]),
  odd_time: warn((camera: Camera, events: number) => [
    `${nameOf(camera)} sent ${counted(events, 'event')} whose eot is more than a day from the receipt, unlike its other events.`,
    'Give the camera a time server (NTP), so that its clock is right before it sends. If it sent events that it had kept for days, do nothing.',
  ]),
  certificate_expired: fail((at: string) => [
    `The TLS certificate expired at ${at}, so cameras reject it.`,
    RENEW,
  ]),
  certificate_expires: warn((at: string, days: number) => [
    `The TLS certificate expires in ${counted(days, 'day')}, at ${at}.`,
    RENEW,
  ]),
  disk_full: fail((oldestDays?: number) => [
    'The disk is full, so events are rejected.',
    roomAdvice(oldestDays),
  ]),
  disk_low: warn((freeBytes: number, minFreeBytes: number, oldestDays?: number) => [
    `The disk has ${bytesFor(freeBytes)} free, less than ${bytesFor(minFreeBytes)} (COURTD_MIN_FREE).`,
    roomAdvice(oldestDays),
  ]),
  disk_filling: warn((freeBytes: number, days: number, oldestDays?: number) => [
    `The disk will be full in about ${counted(days, 'day')}: ${bytesFor(freeBytes)} are free.`,
    roomAdvice(oldestDays),
  ]),
  log_held: warn((directory: string, bytes: number) => [
    `Another program reads the database without end, so the WAL has grown to ${bytesFor(bytes)}. At ${bytesFor(WAL_MAX_BYTES)} events are rejected.`,
    `Run "sudo fuser -v ${directory}/courtd.db" to see which program it is, and end it.`,
  ]),
  erasure_unfinished: warn((atMs: number) => [
    `The erasure of a player that was started at ${isoTime(atMs)} is not finished.`,
    'If it does not run now, run the same "courtd player erase" again: it continues.',
  ]),
  no_backup: warn((ageS: number) => [
    Number.isFinite(ageS) ? `The last backup was made ${span(ageS)} ago.` : 'There has never been a backup.',
    'Set COURTD_BACKUP_DIR to a directory on another disk, then run "sudo systemctl start courtd-backup". If it fails, "journalctl -u courtd-backup" shows why.',
  ]),
  backup_failed: warn((agoS: number, result: string) => [
    `The scheduled backup failed ${span(agoS)} ago (${result}).`,
    'Run "journalctl -u courtd-backup" to see why. Correct that, then run "sudo systemctl start courtd-backup".',
  ]),
  ship_fenced: fail((error: string) => [
    `Shipping has stopped: ${error}`,
    'If this box was cloned from another one, run "sudo courtd ship --new-epoch" here. If not, give one of the two boxes another COURTD_SHIP_BOX.',
  ]),
  ship_refused: fail((error: string) => [
    `Headquarters rejects this box: ${error}`,
    'Correct COURTD_SHIP_URL or COURTD_SHIP_CREDS, then run "sudo systemctl restart courtd-ship". Meanwhile the box keeps its events.',
  ]),
  ship_behind: warn((behindS: number, error: string | null) => [
    `Headquarters is ${span(behindS)} behind.${error === null ? '' : ` ${error}`}`,
    'Check the link or the disk there. Meanwhile the box keeps its events, and shipping continues by itself.',
  ]),
  copy_behind: warn((place: string, behindS: number, error: string | null) => [
    `The copy in ${place} is ${span(behindS)} behind.${error === null ? '' : ` ${error}`}`,
    'Check that its disk is there and has room. The copy then continues by itself; "journalctl -u courtd-copy" shows more.',
  ]),
} as const;

export type BoxProblemCode = keyof typeof BOX_PROBLEMS;

/** @returns a problem with its sentences. @param facts as the table takes them. */
export function problem<Code extends BoxProblemCode>(
  code: Code,
  ...facts: Parameters<(typeof BOX_PROBLEMS)[Code]['text']>
): StatusProblem {
  const { level, text } = BOX_PROBLEMS[code];
  const [message, advice] = (text as (...facts: unknown[]) => Text)(...facts);
  return { code, level, message, advice };
}

/** The part of pino's logger that is used. */
type Log = Record<'warn' | 'error', (fields: object, message: string) => void>;

/** Writes a problem to the log, with its code and its advice. @param level `error` if events are rejected because of it. */
export function logProblem(
  log: Log,
  { code, message, advice }: StatusProblem,
  fields: object = {},
  level: 'warn' | 'error' = 'warn',
): void {
  log[level]({ problem: code, message, advice, ...fields }, 'problem');
}

const VENDOR =
  'Tell the vendor of the camera what is wrong. These events are rejected until the vendor corrects it.';
const ADDRESS = 'Correct the address that this camera was given: its path is /v1/events.';

/** What to do about a rejected request, by its code. A code that is not here ends without help, and is no problem. */
export const REJECTED: Partial<Record<ErrorCode, string>> = {
  invalid_event: VENDOR,
  invalid_json: VENDOR,
  invalid_encoding: VENDOR,
  too_deep: VENDOR,
  unsupported_media_type: VENDOR,
  unsupported_encoding: VENDOR,
  expectation_failed: VENDOR,
  too_many_events: 'Tell the vendor of the camera to send at most 500 events in a request.',
  body_too_large: 'Let the camera send smaller requests, or raise COURTD_BODY_LIMIT.',
  not_found: ADDRESS,
  method_not_allowed: ADDRESS,
  rate_limited: 'Let the camera send more events in a request, or raise COURTD_RATE_LIMIT.',
};

/** @returns what makes room on a disk. @param oldestDays the age of the oldest event; undefined if it is not known. */
function roomAdvice(oldestDays = 0): string {
  const prune = oldestDays < 2 ? '' : `Run "sudo courtd prune --older-than ${Math.floor(oldestDays / 2)}d". `;
  return `${prune}Run "sudo du -xh / | sort -h | tail" to see what fills the disk; if the data directory has a disk of its own, name that instead of "/". If it is the database, use a larger disk.`;
}
