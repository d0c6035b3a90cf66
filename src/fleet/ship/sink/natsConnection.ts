import type { NatsConnection } from '@nats-io/transport-node';
import type { SecretFile } from '../../../base/secretFile.ts';
import type { Servers } from '../../nats/address.ts';
import { credentialsOf, optionsOf } from '../../nats/connect.ts';
import { connectQuietly } from '../../nats/connectQuietly.ts';
import { connectionError } from './connectionError.ts';
import { SinkError } from './sink.ts';

export interface NatsTarget {
  readonly servers: Servers;
  readonly box: string;
  /** The servers, for a sentence. */
  readonly name: string;
  readonly creds: SecretFile;
  readonly ca: SecretFile;
}

/**
 * Connects to one of the servers, whichever answers first in a random order. The library's own reconnecting is off: it hides why a
 * connection cannot be made, and the shipper has to ask where to go on after each anyway. The shipper never gives up.
 * @throws {SinkError} of the last server that was tried; one that refuses this box counts for more than one that is not there.
 */
export async function connectToNats({ servers: all, box, creds, ca }: NatsTarget): Promise<NatsConnection> {
  const common = {
    ...optionsOf(all, `courtd ${box}`, ca.read()),
    ...credentialsOf(
      creds,
      new SinkError(
        'refused',
        'COURTD_SHIP_CREDS does not hold NATS credentials: put the file there that headquarters made for this box, with its JWT and its seed.',
      ),
    ),
    inboxPrefix: `_INBOX.${box}`,
    reconnect: false,
  };
  let worst: SinkError | undefined;
  for (const server of all.servers.toSorted(() => Math.random() - 0.5)) {
    try {
      return await connectQuietly({ ...common, servers: [server] });
    } catch (error) {
      if (worst?.kind !== 'refused') worst = connectionError(error, server);
    }
  }
  throw worst!;
}
