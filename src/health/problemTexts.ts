import { bytesFor, counted, isoTime, span } from '../base/units.ts';
import { shellWord } from '../base/visibleText.ts';
import type { WaitingEvents } from '../store/rejections/refusedBody.ts';
import type { HandshakeReport } from '../telemetry/handshakeFailures.ts';
import type { QuietVenue } from '../telemetry/sourceTable.ts';
import type { RoomFacts } from './facts.ts';
import { type Finding, fail, type LastingProblem, type StatusProblem, warn } from './finding.ts';
import { THRESHOLDS } from './thresholds.ts';

/**
 * What can be wrong with a box, by code: the level, a sentence, and what to do, for `status`, `check`, `support` and the log.
 * systemd/STATUS.md explains each.
 */

interface Camera {
  readonly source: string;
  readonly court_id: string;
  readonly client: string | null;
}

interface Disk {
  readonly freeBytes: number;
  readonly minFreeBytes: number;
  readonly days: number | null;
  readonly room: RoomFacts | undefined;
}

const nameOf = ({ source, court_id }: Pick<Camera, 'source' | 'court_id'>) => `${source} on ${court_id}`;
const lookAt = ({ client }: Pick<Camera, 'client'>) =>
  `Look at its power and its cable${client === null ? '' : `; is it there? "ping ${client}"`}.`;
const REPLACE = 'Replace it, and reload courtd: "sudo systemctl reload courtd".';

export const PROBLEM_TEXTS = {
  daemon_stopped: () =>
    fail(
      'The daemon does not run: no event is taken.',
      'Start it ("sudo systemctl start courtd.socket courtd.service"; "courtd serve" by hand), and look at its log ("journalctl -u courtd").',
    ),
  daemon_hangs: (told: string) => fail(told, 'If that lasts, restart it: "sudo systemctl restart courtd".'),
  database_damaged: () =>
    fail(
      'Part of the database is damaged: requests that need it are refused, and what is read of it may be incomplete.',
      'Keep a copy of the database, check the disk, and restore a backup ("courtd restore").',
    ),
  new_database: (directory: string, seconds: number) =>
    warn(
      `There was no database in ${directory}, so a new, empty one was made ${span(seconds)} ago. Is its disk mounted?`,
      'Where the box itself is new, all is well: this is over after a day. Else stop courtd, and mount its disk.',
    ),
  no_token: () =>
    fail(
      'There is no token: every request is refused.',
      'Make one with "sudo courtd token rotate", and give it to every camera.',
    ),
  source_silent: (from: string, client: string | null, quietS: number, isMissing: boolean) =>
    warn(
      isMissing
        ? `${from}: no events and no empty arrays for ${span(quietS)}.`
        : `${from}: no events for ${span(quietS)}, while another source of its court sends.`,
      lookAt({ client }),
    ),
  source_overdue: (camera: Camera, quietS: number) =>
    warn(
      `${nameOf(camera)}: no events for ${span(quietS)}, while other sources were heard on more than 7 days.`,
      `${lookAt(camera)} If it was removed, courtd forgets it after 30 such days.`,
    ),
  quiet: ({ for_s, sources }: QuietVenue) =>
    warn(
      `Nothing has come from any camera for ${span(for_s)}: all ${sources} stopped at once.`,
      'Look at the switch, its power and its cable to this box. Where play has just ended, all is well.',
    ),
  conflicts: (camera: Camera, events: number) =>
    warn(
      `${nameOf(camera)} sent ${counted(events, 'event')} again with other content. The first version stays.`,
      'Run "courtd conflicts" to see both versions, and send them to the vendor of the camera: a correction needs a higher revision, and two cameras must not use the same event_id.',
    ),
  odd_time: (camera: Camera, events: number) =>
    warn(
      `${nameOf(camera)} sent ${counted(events, 'event')} whose eot is more than a day from the receipt; its other events are not.`,
      'Give the camera a time server (NTP), so that its clock is right before it sends. If it sent what it had kept for days, nothing is wrong.',
    ),
  old_token: (id: number, endsInS: number, users: string) =>
    warn(
      `Token ${id} ends in ${span(endsInS)}, and is still used by ${users}.`,
      'Give them the token of the venue: from then on they are refused.',
    ),
  token_refused: (from: string, times: string) =>
    warn(
      `${from} has no valid token: ${times}.`,
      'Give it the token of the venue; "courtd rejections" shows each request.',
    ),
  // A fault of ours fails. Without the error, in `courtd support`.
  refused: (from: string, times: string, error: string, advice: string, isOurs: boolean) =>
    (isOurs ? fail : warn)(
      `${from}: ${times}. ${error}`.trimEnd(),
      `${advice} Each request: "courtd rejections".`,
    ),
  tls_handshakes: (from: string, { times, reason, ago_s }: HandshakeReport) =>
    warn(
      `${from}: the TLS handshake failed ${times === 1 ? 'once' : `${times} times`}, last ${span(ago_s)} ago (${reason ?? 'the client disconnected'}).`,
      'Give the camera an address that begins with "https://", and let it trust the certificate of this box. It needs TLS 1.2 or 1.3 and a right clock.',
    ),
  refused_waiting: ({ sender, events, sinceMs }: WaitingEvents) =>
    warn(
      `${sender}: ${events === 1 ? '1 refused event waits' : `${events} refused events wait`} to be mended, since ${isoTime(sinceMs)}.`,
      `"sudo courtd rejections export --source ${shellWord(sender)} -o refused.ndjson" writes them with their faults; when they are mended, "sudo courtd import refused.ndjson" stores them.`,
    ),
  clock_off: (camera: Camera, offS: number, mayBeTheBox: string) =>
    warn(
      `The clock of ${nameOf(camera)} is ${span(Math.abs(offS))} ${offS < 0 ? 'behind' : 'ahead'}.${mayBeTheBox}`,
      mayBeTheBox === ''
        ? 'Set its clock, or better give it a time server (NTP).'
        : 'Look at the clock of the box first ("timedatectl"), then at that of the camera.',
    ),
  odd_payload: (camera: Camera, fields: readonly string[]) =>
    warn(
      `${nameOf(camera)} sends ${fields.join(', ')}.`,
      'Tell the vendor of the camera: the events are stored as they came, but the columns of these fields are empty, or have their text.',
    ),
  certificate_expired: (at: string) =>
    fail(`The TLS certificate expired at ${at}: cameras refuse it.`, REPLACE),
  certificate_not_yet_valid: (at: string) =>
    fail(
      `The TLS certificate is not valid before ${at}: cameras refuse it.`,
      'Look at the clock of the box: "timedatectl".',
    ),
  certificate_expires: (at: string, days: number) =>
    warn(`The TLS certificate expires in ${counted(days, 'day')}, at ${at}.`, REPLACE),
  disk_full: (room?: RoomFacts) => fail('The disk is full: events are refused.', roomAdvice(room)),
  disk_low: ({ freeBytes, minFreeBytes, days, room }: Disk) => {
    const left = isSoon(days) ? `, for about ${counted(days, 'day')}` : '';
    const least = `less than ${bytesFor(minFreeBytes)} (COURTD_MIN_FREE)`;
    return warn(
      `The disk is nearly full: ${bytesFor(freeBytes)} are left${left}, ${least}.`,
      roomAdvice(room),
    );
  },
  disk_filling: (freeBytes: number, days: number, room: RoomFacts) =>
    warn(
      `The disk will be full in about ${counted(days, 'day')}: ${bytesFor(freeBytes)} are left.`,
      roomAdvice(room),
    ),
  log_held: (directory: string, bytes: number) =>
    warn(
      `Another program reads the database and does not end: the write-ahead log has grown to ${bytesFor(bytes)}, and at ${bytesFor(THRESHOLDS.log_bytes.refused)} events are refused.`,
      `"sudo fuser -v ${directory}/courtd.db" names it: end it.`,
    ),
  erasure_unfinished: (atMs: number) =>
    warn(
      `The erasure of a player that was asked for on ${isoTime(atMs)} is not finished.`,
      'Unless it runs now, call "courtd player erase" for him again: it goes on. Only a keyed hash of his player_id is kept.',
    ),
  prune_failed: () =>
    warn(
      'The nightly prune has failed: events stay for longer than they should, and the disk fills.',
      '"journalctl -u courtd-prune" says why; "sudo systemctl start courtd-prune" tries it again.',
    ),
  backup_failed: (ageS: number | undefined) =>
    warn(
      `The nightly backup has failed: ${ageS === undefined ? 'there is none' : `the newest one is ${span(ageS)} old`}.`,
      '"courtd check" says what it finds, and "journalctl -u courtd-backup" what happened.',
    ),
  no_backup: (ageS: number | undefined) =>
    warn(
      `${ageS === undefined ? 'There has never been a backup' : `The last backup was ${span(ageS)} ago`}: if the disk fails, all since then is lost.`,
      'Set COURTD_BACKUP_DIR, at best to a directory on another disk, and "sudo systemctl start courtd-backup"; or run "courtd backup DIR".',
    ),
  ship_fenced: (told: string) => fail(told, 'Do what the message says; "courtd ship status" shows more.'),
  ship_refused: (told: string) =>
    fail(told, 'Until then the box keeps its events; "courtd ship status" shows more.'),
  ship_stopped: (behindS: number) =>
    warn(
      `No shipper runs: events of the last ${span(behindS)} have not been shipped.`,
      'Start it: "sudo systemctl start courtd-ship", and look at "journalctl -u courtd-ship".',
    ),
  ship_behind: (behindS: number, error: string | null, isCopy: boolean) =>
    warn(
      behindS === 0 && error !== null
        ? error
        : `${isCopy ? 'The copy' : 'Headquarters'} is ${span(behindS)} behind. ${error ?? ''}`.trimEnd(),
      isCopy
        ? 'Look at its stick or its disk, and whether its shipper runs ("systemctl status courtd-ship"); the box keeps its events, and the copy goes on by itself.'
        : 'Check the link to headquarters; the box keeps its events.',
    ),
};

/** @returns what is wrong, as `problems.ts` has found. */
export function problem<Code extends keyof typeof PROBLEM_TEXTS>(
  code: Code,
  ...facts: Parameters<(typeof PROBLEM_TEXTS)[Code]>
): LastingProblem {
  const tell = PROBLEM_TEXTS[code] as (...facts: unknown[]) => Finding;
  return { code, about: aboutOf(code, facts), ...(tell(...facts) as Omit<StatusProblem, 'code'>) };
}

/** Their first fact says whom they are about. */
const ABOUT_A_TEXT: readonly (keyof typeof PROBLEM_TEXTS)[] = [
  'source_silent',
  'token_refused',
  'refused',
  'tls_handshakes',
  'old_token',
];

/** Numbers in the sentence change while it lasts. */
function aboutOf(code: keyof typeof PROBLEM_TEXTS, [first]: readonly unknown[]): string {
  if (ABOUT_A_TEXT.includes(code)) return `${first}`;
  if (typeof first !== 'object' || first === null) return '';
  if ('court_id' in first) return nameOf(first as Camera);
  return 'sender' in first ? `${first.sender}` : '';
}

export function isSoon(days: number | null): days is number {
  return days !== null && days < THRESHOLDS.filling_days;
}

/** Deleting less than that makes no room on a disk that is full. */
const ROOM_BYTES = 64 * 1024 ** 2;

/** @returns what to do about a full disk: what would free how much. @param room undefined where nobody has looked. */
export function roomAdvice(room: RoomFacts | undefined): string {
  if (room === undefined) return '"courtd status" says what would make room, and how much.';
  const { suggestion, bytes, previousBytes } = room;
  const advice: string[] = [];
  if (previousBytes >= ROOM_BYTES) {
    advice.push(
      `Earlier databases take ${bytesFor(previousBytes)}: remove courtd.db.replaced-* and courtd.db.layout-* in the data directory when you no longer need them.`,
    );
  }
  if (bytes < ROOM_BYTES) {
    const what = `The events take ${bytesFor(bytes)} only: something else fills the disk`;
    advice.push(`${what} ("sudo du -xh / | sort -h | tail" shows what).`);
  } else if (suggestion === undefined) {
    advice.push('All events are of the last hour: no prune makes room; a larger disk does.');
  } else {
    const { olderThan, positionBytes } = suggestion;
    const positions =
      positionBytes < suggestion.bytes / 10
        ? ''
        : `; "--type PLAYER_POSITION" besides, about ${bytesFor(positionBytes)}, and all else stays`;
    advice.push(
      `Make room: "sudo courtd prune --older-than ${olderThan}" frees about ${bytesFor(suggestion.bytes)}${positions}; --dry-run first.`,
    );
  }
  return advice.join(' ');
}
