import type { JsMsg } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { membersOf } from '../../base/json.ts';
import { isoTime } from '../../base/units.ts';
import { STATUS_STREAM, statusSubjectOf } from '../log/fleetLog.ts';
import { readStream } from './readStream.ts';

/**
 * A box by its last status, as `courtd fleet status --json` prints it; null is unknown. `shipped_seq` is the last event that
 * headquarters has, `newest_seq` that of the box, `last_seen_at` when the status came, by the servers' clock.
 */
export type BoxRow = ReturnType<typeof rowOf>;

/** @returns every box that has a status, the one that has been silent for longest first. */
export async function readBoxes(nc: NatsConnection): Promise<BoxRow[]> {
  const rows: BoxRow[] = [];
  for await (const message of readStream(nc, STATUS_STREAM, statusSubjectOf('>'), true)) {
    // A deleted key leaves a message without data.
    if (message.data.length === 0) continue;
    rows.push(rowOf(message));
  }
  return rows.sort((a, b) => (a.last_seen_at < b.last_seen_at ? -1 : 1));
}

function rowOf(message: JsMsg) {
  const ship = Object(membersOf(message.string()).ship);
  return {
    box: message.subject.split('.').at(-1)!,
    epoch: textOf(ship.epoch),
    state: textOf(ship.state),
    shipped_seq: numberOf(ship.shipped_seq),
    newest_seq: numberOf(ship.newest_seq),
    behind_events: numberOf(ship.behind_events),
    behind_s: numberOf(ship.behind_s),
    last_seen_at: isoTime(message.time.getTime()),
  };
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : null);
const numberOf = (value: unknown) => (typeof value === 'number' ? value : null);
