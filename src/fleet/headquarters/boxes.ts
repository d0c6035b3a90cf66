import type { NatsConnection } from '@nats-io/transport-node';
import { membersOf } from '../../base/json.ts';
import { isoTime } from '../../base/units.ts';
import { chunkHead, STATUS_STREAM, STREAM, sourceOf } from '../nats/fleetLog.ts';
import { readStream } from './readStream.ts';

/** A box as headquarters sees it, as `courtd fleet status --json` prints it. Null means unknown. */
export interface BoxRow {
  readonly box: string;
  readonly epoch: string | null;
  /** `current`, `behind`, `fenced`, … as the box last reported; `current` if it was behind and has caught up since. */
  readonly state: string | null;
  /** The last event that headquarters has. */
  readonly shipped_seq: number | null;
  /** The newest event that the box has reported. */
  readonly newest_seq: number | null;
  readonly behind_events: number | null;
  readonly behind_s: number | null;
  /** When its last status or its last events came, by the servers' clock, ISO 8601. */
  readonly last_seen_at: string | null;
}

interface BoxLog {
  readonly epoch: string;
  readonly last: number;
  readonly atMs: number;
}

interface Told {
  readonly atMs: number;
  readonly ship: Record<string, unknown>;
}

/** @returns every box that has shipped events or has a status, the one that has been silent for longest first. */
export async function readBoxes(nc: NatsConnection): Promise<BoxRow[]> {
  const logs = new Map<string, BoxLog>();
  for await (const message of readStream(nc, { stream: STREAM, last: true, headersOnly: true })) {
    const { box, epoch } = sourceOf(message.subject);
    const head = chunkHead(message.headers);
    // In the order of the stream: the epoch that was written to last counts.
    if (head !== undefined) logs.set(box, { epoch, last: head.last, atMs: message.time.getTime() });
  }
  const told = new Map<string, Told>();
  for await (const message of readStream(nc, { stream: STATUS_STREAM, last: true })) {
    // A deleted key leaves a message without data.
    if (message.data.length === 0) continue;
    const { ship } = membersOf(message.string());
    told.set(message.subject.split('.').at(-1)!, {
      atMs: message.time.getTime(),
      ship: (typeof ship === 'object' && ship !== null ? ship : {}) as Record<string, unknown>,
    });
  }
  const boxes = [...new Set([...logs.keys(), ...told.keys()])];
  const rows = boxes.map((box) => rowOf(box, logs.get(box), told.get(box)));
  return rows.sort((a, b) => (a.last_seen_at! < b.last_seen_at! ? -1 : 1));
}

function rowOf(box: string, log: BoxLog | undefined, told: Told | undefined): BoxRow {
  const ship = told?.ship ?? {};
  const newest = number(ship.newest_seq);
  const shipped = log?.last ?? number(ship.shipped_seq);
  const isCaughtUp = newest !== null && shipped !== null && shipped >= newest;
  const state = text(ship.state);
  return {
    box,
    epoch: text(ship.epoch) ?? log?.epoch ?? null,
    state: state === 'behind' && isCaughtUp ? 'current' : state,
    shipped_seq: shipped,
    newest_seq: newest,
    behind_events: isCaughtUp ? 0 : number(ship.behind_events),
    behind_s: isCaughtUp ? 0 : number(ship.behind_s),
    last_seen_at: isoTime(Math.max(told?.atMs ?? 0, log?.atMs ?? 0)),
  };
}

function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
