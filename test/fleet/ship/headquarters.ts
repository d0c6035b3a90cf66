import { createHash } from 'node:crypto';
import zlib from 'node:zlib';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { Cleanup } from '../../harness/daemon.ts';

/** Headquarters as a test looks at it: the streams of design 8, through NATS's own API and none of courtd's code. */

export interface FleetMessage {
  readonly subject: string;
  readonly epoch: string;
  readonly after: number;
  readonly last: number;
  readonly lines: readonly string[];
}

/** As `courtd fleet init` makes them. */
const FLEET = {
  subjects: ['court.v1.*.*'],
  retention: 'limits',
  storage: 'file',
  discard: 'new',
  max_age: 0,
  allow_direct: true,
  deny_purge: true,
  duplicate_window: 100_000_000,
};
const STATUS = {
  subjects: ['$KV.court-status.>'],
  retention: 'limits',
  storage: 'file',
  max_msgs_per_subject: 1,
  allow_direct: true,
};

export class Headquarters {
  readonly #nc: NatsConnection;

  private constructor(nc: NatsConnection) {
    this.#nc = nc;
  }

  /** @param url of NATS servers, separated by commas. */
  static async connect(
    t: Cleanup,
    url: string,
    options: Record<string, unknown> = {},
  ): Promise<Headquarters> {
    const servers = url.split(',').map((one) => one.replace(/^\w+:\/\//, ''));
    const nc = await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 100, ...options });
    t.teardown(() => nc.close());
    return new Headquarters(nc);
  }

  /** Makes the streams. @param more settings of FLEET. */
  async init(more: Record<string, unknown> = {}, replicas = 1): Promise<void> {
    for (const [name, config] of Object.entries({
      FLEET: { ...FLEET, ...more },
      'KV_court-status': STATUS,
    })) {
      await this.api(`STREAM.CREATE.${name}`, { name, num_replicas: replicas, ...config });
    }
  }

  /** Changes settings of FLEET. */
  async update(more: Record<string, unknown>): Promise<void> {
    await this.api('STREAM.UPDATE.FLEET', { name: 'FLEET', num_replicas: 1, ...FLEET, ...more });
  }

  async api(call: string, body: unknown = ''): Promise<Record<string, unknown>> {
    const text = body === '' ? '' : JSON.stringify(body);
    const answer = await this.#nc.request(`$JS.API.${call}`, text, { timeout: 20_000 });
    const value = answer.json<Record<string, unknown> & { error?: { description: string } }>();
    if (value.error !== undefined) throw new Error(`${call}: ${value.error.description}`);
    return value;
  }

  /** @returns how many messages there are of all boxes. */
  async count(): Promise<number> {
    const { state } = await this.api('STREAM.INFO.FLEET');
    return (state as { messages: number }).messages;
  }

  /** @returns every message of a box, in the order of the stream. @throws {Error} if one is not as design 8 says. */
  messages(box: string): Promise<FleetMessage[]> {
    return Array.fromAsync(this.each(box));
  }

  /** The same, one after the other. */
  async *each(box: string): AsyncGenerator<FleetMessage> {
    const filter = `court.v1.${box}.*`;
    for (let seq = 1; ; seq++) {
      const body = JSON.stringify({ seq, next_by_subj: filter });
      const answer = await this.#nc.request('$JS.API.DIRECT.GET.FLEET', body, { timeout: 20_000 });
      if (answer.headers?.code === 404) return;
      const header = (name: string) => answer.headers?.get(name) ?? '';
      seq = Number(header('Nats-Sequence'));
      const sha = createHash('sha256').update(answer.data).digest('hex');
      const lines = zlib
        .gunzipSync(answer.data)
        .toString()
        .split(/(?<=\n)/);
      if (sha !== header('Courtd-SHA256')) throw new Error(`${seq}: Courtd-SHA256 is not that of the data`);
      if (lines.length !== Number(header('Courtd-Count'))) throw new Error(`${seq}: Courtd-Count is wrong`);
      const subject = header('Nats-Subject');
      const [after, last] = [Number(header('Courtd-After')), Number(header('Courtd-Last'))];
      yield { subject, epoch: subject.split('.')[3]!, after, last, lines };
    }
  }

  /** @returns the last status message of a box; undefined if there is none. */
  async status(box: string): Promise<Record<string, unknown> | undefined> {
    const answer = await this.#nc.request(`$JS.API.DIRECT.GET.KV_court-status.$KV.court-status.${box}`, '', {
      timeout: 20_000,
    });
    return answer.headers?.code === 404 ? undefined : answer.json();
  }

  async close(): Promise<void> {
    await this.#nc.close();
  }
}

/** @returns the faults of a chain: none if each message continues where the one before it ended. */
export function gapsOf(messages: readonly FleetMessage[]): string[] {
  return messages.flatMap(({ after, subject }, i) => {
    const before = messages[i - 1]?.last ?? 0;
    return after === before
      ? []
      : [`message ${i + 1} (${subject}) goes on after ${after}, and ${before} came before`];
  });
}

/** @returns the SHA-256 of lines, as hex. */
export function digestOf(lines: readonly string[]): string {
  const hash = createHash('sha256');
  for (const line of lines) hash.update(line);
  return hash.digest('hex');
}
