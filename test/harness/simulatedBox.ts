import type { Connector } from '../../src/fleet/nats/connect.ts';
import { NatsLog } from '../../src/fleet/ship/natsLog.ts';
import { event } from './events.ts';

/** @returns a line of `courtd tail --json`, with its line end. */
export function arrivalLine(seq: number, overrides: Record<string, unknown> = {}): string {
  const receivedAt = new Date(Date.UTC(2026, 2, 14, 15, 9, 26) + seq).toISOString();
  return `{"seq":${seq},"received_at":"${receivedAt}","event":${JSON.stringify(event(overrides))}}\n`;
}

/** A box as headquarters sees it: what `courtd ship` publishes, without a box behind it. */
export class SimulatedBox {
  readonly box: string;
  readonly #log: NatsLog;
  #epoch = 'e1';
  /** The last seq that it has published. */
  #last = 0;
  /** The stream's number of the last message of its subject. */
  #place = 0;

  constructor(connector: Connector, box: string) {
    this.box = box;
    this.#log = new NatsLog(connector, box, () => {});
  }

  get epoch(): string {
    return this.#epoch;
  }

  /** Publishes events that come next, or with other seqs. @returns their lines. */
  async ship(count: number, from = this.#last + 1): Promise<string[]> {
    const lines = Array.from({ length: count }, (_, i) => arrivalLine(from + i));
    const last = from + count - 1;
    this.#place = await this.#log.publish(this.#epoch, { after: this.#last, last, lines }, this.#place);
    this.#last = last;
    return lines;
  }

  /** A new log: what comes next is behind `after`. */
  begin(epoch: string, after: number): void {
    this.#epoch = epoch;
    this.#last = after;
    this.#place = 0;
  }

  /** Publishes a status. */
  async tell(status: string): Promise<void> {
    await this.#log.connect();
    await this.#log.tell(status);
  }

  close(): void {
    this.#log.close();
  }
}
