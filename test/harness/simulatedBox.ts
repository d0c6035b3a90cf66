import { gzipSync } from 'node:zlib';
import { jetstream } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { sha256Of } from '../../src/fleet/log/chunk.ts';
import { statusSubjectOf, subjectOf } from '../../src/fleet/log/fleetLog.ts';
import { event } from './events.ts';

/** A box as headquarters sees it: what `courtd ship` publishes, without a box behind it. */

/** Disks of test machines are slow now and then. */
const ACK_MS = 30_000;
/** A minute, with the library's pauses. */
const ELECTION_TRIES = 20;

export interface Chunk {
  readonly after: number;
  readonly last: number;
  readonly count: number;
  readonly sha256: string;
  readonly data: Uint8Array;
}

/** @returns a line of `courtd tail --json`, without its line end. */
export function arrivalLine(seq: number, overrides: Record<string, unknown> = {}): string {
  const receivedAt = new Date(Date.UTC(2026, 2, 14, 15, 9, 26) + seq).toISOString();
  return `{"seq":${seq},"received_at":"${receivedAt}","event":${JSON.stringify(event(overrides))}}`;
}

/** @returns the chunk of some lines, the seq of the last of which is `last`. */
export function chunkOf(after: number, last: number, lines: readonly string[]): Chunk {
  const data = gzipSync(lines.map((line) => `${line}\n`).join(''));
  return { after, last, count: lines.length, sha256: sha256Of(data), data };
}

export class SimulatedBox {
  readonly box: string;
  epoch: string;
  /** The last seq that it has published. */
  last: number;
  readonly #nc: NatsConnection;
  /** The stream's number of the last message of this subject. */
  #at = 0;

  constructor(nc: NatsConnection, box: string, epoch = 'e1', after = 0) {
    this.#nc = nc;
    this.box = box;
    this.epoch = epoch;
    this.last = after;
  }

  /** Publishes events that come next. @returns their lines. */
  async ship(count: number, overrides: Record<string, unknown> = {}): Promise<string[]> {
    const lines = Array.from({ length: count }, (_, i) => arrivalLine(this.last + i + 1, overrides));
    await this.send(chunkOf(this.last, this.last + count, lines));
    return lines;
  }

  /** Publishes a chunk, whatever it says. */
  async send({ after, last, count, sha256, data }: Chunk): Promise<void> {
    const head = headers();
    for (const [name, value] of Object.entries({
      'Courtd-After': after,
      'Courtd-Last': last,
      'Courtd-Count': count,
      'Courtd-SHA256': sha256,
    })) {
      head.set(name, `${value}`);
    }
    const { seq } = await jetstream(this.#nc).publish(subjectOf(this.box, this.epoch), data, {
      headers: head,
      expect: { lastSubjectSequence: this.#at },
      timeout: ACK_MS,
      // While a leader is elected nobody answers.
      retries: ELECTION_TRIES,
    });
    this.#at = seq;
    this.last = last;
  }

  /** A new log: what comes next is behind `after`. */
  begin(epoch: string, after: number): void {
    this.epoch = epoch;
    this.last = after;
    this.#at = 0;
  }

  /** Publishes a status. */
  async tell(status: Record<string, unknown> | string): Promise<void> {
    const text = typeof status === 'string' ? status : JSON.stringify(status);
    await jetstream(this.#nc).publish(statusSubjectOf(this.box), text, { timeout: ACK_MS });
  }
}
