import {
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
} from '@nats-io/transport-node';
import type { Servers } from '../../nats/address.ts';
import { isCredentials, optionsOf } from '../../nats/connect.ts';
import { connectTrouble } from './connectTrouble.ts';
import type { SecretFile } from './secrets.ts';
import { Trouble } from './sink.ts';

/** What a connection needs. */
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
 * @throws {Trouble} of the last server that was tried; one that refuses this box counts for more than one that is not there.
 */
export async function connectToNats({ servers: all, box, creds, ca }: NatsTarget): Promise<NatsConnection> {
  const common = {
    ...optionsOf(all, `courtd ${box}`, ca.read()),
    ...credentialsOf(creds),
    inboxPrefix: `_INBOX.${box}`,
    reconnect: false,
  };
  let worst: Trouble | undefined;
  for (const server of all.servers.toSorted(() => Math.random() - 0.5)) {
    try {
      return await connect({ ...common, servers: [server] });
    } catch (error) {
      if (worst?.kind !== 'refused') worst = connectTrouble(error, server);
    }
  }
  throw worst!;
}

/** A credentials file, which counts for more than the user of the URL. @throws {Trouble} where the file holds something else. */
function credentialsOf(creds: SecretFile): ConnectionOptions {
  const content = creds.read();
  if (content === undefined) return {};
  if (isCredentials(content)) return { authenticator: credsAuthenticator(content) };
  throw new Trouble(
    'refused',
    'COURTD_SHIP_CREDS does not hold NATS credentials: put the file there that headquarters made for this box ("nsc generate creds").',
  );
}
