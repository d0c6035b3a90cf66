import type { JsMsg } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { membersOf } from '../../base/json.ts';
import { isoTime } from '../../base/units.ts';
import { numberIn } from '../log/chunk.ts';
import { STATUS_STREAM, STREAM, sourceOf } from '../log/fleetLog.ts';
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

/** @returns every box that has shipped events or has a status, the one that has been silent for longest first. */
export async function readBoxes(nc: NatsConnection): Promise<BoxRow[]> {
  const boxes = new Map<string, Heard>();
  const hear = (box: string, { time }: JsMsg, heard: Partial<Heard>) => {
    const before = boxes.get(box);
    boxes.set(box, { ...before, ...heard, atMs: Math.max(before?.atMs ?? 0, time.getTime()) });
  };
  for await (const message of readStream(nc, { stream: STREAM, last: true, headersOnly: true })) {
    const { box, epoch } = sourceOf(message.subject);
    const last = numberIn(message.headers, 'Courtd-Last');
    // In the order of the stream: the epoch that was written to last counts.
    if (last >= 0) hear(box, message, { epoch, last });
  }
  for await (const message of readStream(nc, { stream: STATUS_STREAM, last: true })) {
    // A deleted key leaves a message without data.
    if (message.data.length === 0) continue;
    const { ship } = membersOf(message.string());
    const isObject = typeof ship === 'object' && ship !== null;
    hear(message.subject.split('.').at(-1)!, message, { ship: isObject ? { ...ship } : {} });
  }
  const rows = [...boxes].map(([box, heard]) => rowOf(box, heard));
  return rows.sort((a, b) => (a.last_seen_at! < b.last_seen_at! ? -1 : 1));
}

/** What headquarters has of a box. */
interface Heard {
  readonly atMs: number;
  /** The epoch that was written to last, and its last seq. */
  readonly epoch?: string;
  readonly last?: number;
  /** Of its last status: whatever the box has written. */
  readonly ship?: Readonly<Record<string, unknown>>;
}

function rowOf(box: string, { atMs, epoch, last, ship = {} }: Heard): BoxRow {
  const newest = number(ship.newest_seq);
  const shipped = last ?? number(ship.shipped_seq);
  const isCaughtUp = newest !== null && shipped !== null && shipped >= newest;
  const state = text(ship.state);
  return {
    box,
    epoch: text(ship.epoch) ?? epoch ?? null,
    state: state === 'behind' && isCaughtUp ? 'current' : state,
    shipped_seq: shipped,
    newest_seq: newest,
    behind_events: isCaughtUp ? 0 : number(ship.behind_events),
    behind_s: isCaughtUp ? 0 : number(ship.behind_s),
    last_seen_at: isoTime(atMs),
  };
}

function number(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
