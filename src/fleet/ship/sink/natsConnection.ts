import type { NatsConnection } from '@nats-io/transport-node';
import type { Connector } from '../../nats/connect.ts';
import { connectionError } from './connectionError.ts';

export interface NatsTarget {
  readonly connector: Connector;
  readonly box: string;
}

/**
 * Connects to one of the servers. The library's own reconnecting is off: it hides why a connection cannot be made, and the shipper has
 * to ask where to continue after each anyway.
 * @throws {SinkError}
 */
export async function connectToNats({ connector, box }: NatsTarget): Promise<NatsConnection> {
  const options = { inboxPrefix: `_INBOX.${box}`, reconnect: false };
  return connector.connect(`courtd ${box}`, options).catch((error) => {
    throw connectionError(error, connector.shown);
  });
}
