import { createHash } from 'node:crypto';
import zlib from 'node:zlib';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type Cleanup, courtd } from '../../harness/daemon.ts';

/** Headquarters as a test looks at it: its streams through NATS's own API, and none of courtd's code. */

export interface FleetMessage {
  readonly epoch: string;
  readonly after: number;
  readonly last: number;
  readonly lines: readonly string[];
}

export class Headquarters {
  readonly #nc: NatsConnection;

  private constructor(nc: NatsConnection) {
    this.#nc = nc;
  }

  /**
   * Makes the streams and connects.
   * @param url of a NATS server.
   * @param env of `courtd fleet init`. @param options of the connection.
   */
  static async start(
    t: Cleanup,
    url: string,
    env: Record<string, string> = {},
    options: Record<string, unknown> = {},
  ): Promise<Headquarters> {
    const { status, stderr } = await courtd(['fleet', 'init', url], env);
    if (status !== 0) throw new Error(stderr);
    const servers = url.replace(/^\w+:\/\//, '');
    const nc = await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 100, ...options });
    t.teardown(() => nc.close());
    return new Headquarters(nc);
  }

  /** @returns every message of a box, in the order of the stream. @throws {Error} if a hash or a count is wrong. */
  async messages(box: string): Promise<FleetMessage[]> {
    const messages: FleetMessage[] = [];
    for (let seq = 1; ; seq++) {
      const body = JSON.stringify({ seq, next_by_subj: `court.v1.${box}.*` });
      const answer = await this.#nc.request('$JS.API.DIRECT.GET.FLEET', body, { timeout: 20_000 });
      if (answer.headers?.code === 404) return messages;
      const header = (name: string) => answer.headers?.get(name) ?? '';
      seq = Number(header('Nats-Sequence'));
      const sha = createHash('sha256').update(answer.data).digest('hex');
      const lines = zlib
        .gunzipSync(answer.data)
        .toString()
        .split(/(?<=\n)/);
      if (sha !== header('Courtd-SHA256')) throw new Error(`${seq}: Courtd-SHA256 is not that of the data`);
      if (lines.length !== Number(header('Courtd-Count'))) throw new Error(`${seq}: Courtd-Count is wrong`);
      const [after, last] = [Number(header('Courtd-After')), Number(header('Courtd-Last'))];
      messages.push({ epoch: header('Nats-Subject').split('.')[3]!, after, last, lines });
    }
  }

  /** @returns the last status message of a box. */
  async status(box: string): Promise<Record<string, unknown>> {
    const subject = `$JS.API.DIRECT.GET.KV_court-status.$KV.court-status.${box}`;
    return (await this.#nc.request(subject, '', { timeout: 20_000 })).json();
  }
}

/** @returns the faults of a chain: none if each message continues behind the one before it. */
export function gapsOf(messages: readonly FleetMessage[]): string[] {
  return messages.flatMap(({ after }, i) => {
    const before = messages[i - 1]?.last ?? 0;
    return after === before ? [] : [`message ${i + 1} continues after ${after}, and ${before} came before`];
  });
}

/** @returns the SHA-256 of lines, as hex. */
export function digestOf(lines: readonly string[]): string {
  const hash = createHash('sha256');
  for (const line of lines) hash.update(line);
  return hash.digest('hex');
}
