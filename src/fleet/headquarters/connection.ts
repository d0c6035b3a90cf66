import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { Connector, type Headquarters } from '../nats/connect.ts';
import { faultOf, NatsFault, passes } from '../nats/faults.ts';

export type FleetOptions = Omit<Headquarters, 'url'>;

/** Half a minute in which the servers may be started again. */
const RECONNECT = { maxReconnectAttempts: 15, reconnectTimeWait: 1_000, reconnectJitter: 1_000 };
/** How long to wait for an election, or for a third server to start. */
const WAIT_MS = 60_000;
const RETRY_MS = 500;

/**
 * Connects to headquarters, runs `work` and closes the connection.
 * @throws {OperatorError} if the servers do not answer or refuse: what happened and what to do.
 */
export async function withHeadquarters<Result>(
  url: string,
  options: FleetOptions,
  work: (nc: NatsConnection) => Promise<Result>,
): Promise<Result> {
  const connector = new Connector({ url, ...options });
  const nc = await connector.connect('courtd fleet', RECONNECT);
  try {
    return await work(nc);
  } catch (error) {
    // If the connection has ended for good, its reason says more than what became of the work.
    const end = nc.isClosed() ? await nc.closed() : undefined;
    throw isOfNats(end ?? error) ? faultOf(end ?? error, connector.shown) : error;
  } finally {
    await nc.close();
  }
}

/**
 * Does work again for up to a minute: servers that elect a leader do not answer, or answer with an error.
 * @param onWait is called once, if it has to wait.
 */
export async function untilReady<Result>(work: () => Promise<Result>, onWait = () => {}): Promise<Result> {
  const end = performance.now() + WAIT_MS;
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!passes(error) || performance.now() > end) throw error;
    }
    if (tries === 0) onWait();
    await sleep(RETRY_MS);
  }
}

/** Whether it is an error of NATS's library, and not one of ours or a bug. */
function isOfNats(error: unknown): boolean {
  if (error instanceof NatsFault) return true;
  return (
    error instanceof Error &&
    /Error$/.test(error.name) &&
    !/^(Type|Range|Syntax|Reference)?Error$/.test(error.name)
  );
}
