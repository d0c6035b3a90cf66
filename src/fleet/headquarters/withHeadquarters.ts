import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { OperatorError } from '../../base/operatorError.ts';
import { Connector } from '../nats/connect.ts';
import { faultOf, passes } from '../nats/faults.ts';

/** Half a minute in which the servers may be started again. */
const RECONNECT = { maxReconnectAttempts: 15, reconnectTimeWait: 1_000, reconnectJitter: 1_000 };
const [READY_MS, ASK_AGAIN_MS] = [60_000, 500];

/**
 * Connects to headquarters, runs `work` and closes the connection.
 * @throws {OperatorError} if the servers do not answer or reject: what happened and what to do.
 */
export async function withHeadquarters<Result>(
  url: string,
  work: (nc: NatsConnection) => Promise<Result>,
): Promise<Result> {
  const { COURTD_FLEET_CREDS: creds, COURTD_FLEET_CA: ca } = process.env;
  const connector = new Connector({ url, creds, ca });
  const nc = await connector.connect('courtd fleet', RECONNECT);
  try {
    return await work(nc);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    // If the connection has ended for good, its reason is more useful than the failure of the work.
    const end = nc.isClosed() ? await nc.closed() : undefined;
    throw faultOf(end ?? error, connector.shown);
  } finally {
    await nc.close();
  }
}

/** Does work again for up to a minute: servers that elect a leader, or start, do not answer, or answer with an error. */
export async function untilReady<Result>(work: () => Promise<Result>): Promise<Result> {
  for (const end = performance.now() + READY_MS; ; await sleep(ASK_AGAIN_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!passes(error) || performance.now() > end) throw error;
    }
  }
}
