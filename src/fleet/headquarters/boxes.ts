import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { membersOf } from '../../base/json.ts';
import { isoTime } from '../../base/units.ts';
import type { StatusProblem } from '../../health/finding.ts';
import { chunkHead, STATUS_STREAM, STREAM, sourceOf, statusSubjectOf } from '../nats/fleetLog.ts';
import { readStream } from './readStream.ts';
import { Retries } from './retries.ts';

/** A box as headquarters sees it; as `courtd fleet status --json` prints it. What is not known is null. */
export interface BoxRow {
  readonly box: string;
  readonly epoch: string | null;
  /** `current`, `behind`, `fenced`, … as the box last reported; `current` where it was behind, and has caught up since. */
  readonly state: string | null;
  /** ISO 8601, by the servers' clock. */
  readonly last_status_at: string | null;
  /** When the box was last heard from, if that is too long ago; null: it is not silent. Without a status it was retired. */
  readonly silent_since: string | null;
  /** The last event that headquarters has. */
  readonly shipped_seq: number | null;
  /** The newest event that the box has reported. */
  readonly newest_seq: number | null;
  readonly behind_events: number | null;
  readonly behind_s: number | null;
  readonly last_chunk_at: string | null;
  readonly error: string | null;
  readonly problems: readonly StatusProblem[];
}

/** A status comes once a minute: two of them are missing, with some margin. */
const SILENT_MS = 150_000;

interface BoxLog {
  epoch: string;
  last: number;
  atMs: number;
}

interface Told {
  atMs: number;
  status: Record<string, unknown>;
}

/**
 * Reads the last chunk and the last status of every box; of the chunks only their headers.
 * @returns every box that has ever shipped or reported anything, the worst first.
 */
export async function readBoxes(nc: NatsConnection): Promise<BoxRow[]> {
  const logs = new Map<string, BoxLog>();
  for await (const message of readStream(nc, { stream: STREAM, last: true, headersOnly: true })) {
    const { box, epoch } = sourceOf(message.subject);
    const head = chunkHead(message.headers);
    // In the order of the stream: the epoch that was written to last counts.
    if (head !== undefined) logs.set(box, { epoch, last: head.last, atMs: message.time.getTime() });
  }
  const told = new Map<string, Told>();
  for await (const message of readStream(nc, { stream: STATUS_STREAM })) {
    const { box } = sourceOf(message.subject);
    told.set(box, { atMs: message.time.getTime(), status: membersOf(message.string()) });
  }
  const boxes = new Set([...logs.keys(), ...told.keys()]);
  const nowMs = Date.now();
  const rows = [...boxes].map((box) => rowOf(box, logs.get(box), told.get(box), nowMs));
  return rows.sort((a, b) => rank(b) - rank(a) || (a.box < b.box ? -1 : 1));
}

/** The status is that of `courtd ship status --json` with `problems`; or that of `courtd status --json`, which has it in `ship`. */
export function rowOf(box: string, log: BoxLog | undefined, told: Told | undefined, nowMs: number): BoxRow {
  const status = told?.status ?? {};
  const ship = (status.ship ?? status) as Record<string, unknown>;
  const newest = number(ship.newest_seq);
  const shipped = log?.last ?? number(ship.shipped_seq);
  const isCaughtUp = newest !== null && shipped !== null && shipped >= newest;
  const heardMs = Math.max(told?.atMs ?? 0, log?.atMs ?? 0);
  const isSilent = nowMs - heardMs > SILENT_MS;
  const state = text(ship.state);
  return {
    box,
    epoch: text(ship.epoch) ?? log?.epoch ?? null,
    state: state === 'behind' && isCaughtUp ? 'current' : state,
    last_status_at: told === undefined ? null : isoTime(told.atMs),
    silent_since: isSilent ? isoTime(heardMs) : null,
    shipped_seq: shipped,
    newest_seq: newest,
    behind_events: isCaughtUp ? 0 : number(ship.behind_events),
    behind_s: isCaughtUp ? 0 : number(ship.behind_s),
    last_chunk_at: log === undefined ? null : isoTime(log.atMs),
    error: text(ship.error),
    problems: problemsOf(status.problems),
  };
}

/** Forgets the last status of a box that ships no more; its events stay. @returns whether there was one. */
export async function forgetStatus(nc: NatsConnection, box: string): Promise<boolean> {
  const jsm = await jetstreamManager(nc, { checkAPI: false });
  const filter = statusSubjectOf(box);
  const { purged } = await new Retries().until(() => jsm.streams.purge(STATUS_STREAM, { filter }));
  return purged > 0;
}

function problemsOf(value: unknown): StatusProblem[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((one) => {
    const { code, level, message, advice } = (one ?? {}) as Record<string, unknown>;
    if (typeof message !== 'string') return [];
    const [own, what] = [level === 'fail' ? 'fail' : 'warn', text(advice) ?? ''] as const;
    return [{ code: text(code) ?? '', level: own, message, advice: what }];
  });
}

/** How urgently a box needs attention. */
export function rank({
  state,
  last_status_at,
  silent_since,
  error,
  problems,
  behind_events,
}: BoxRow): number {
  if (state === 'fenced' || state === 'refused' || problems.some(({ level }) => level === 'fail')) return 5;
  // A box without a status has been retired.
  if (silent_since !== null && last_status_at !== null) return 4;
  if (error !== null) return 3;
  if (problems.length > 0) return 2;
  return (behind_events ?? 0) > 0 || state === 'behind' || state === 'connecting' ? 1 : 0;
}

function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
