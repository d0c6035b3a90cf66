import net from 'node:net';
import type { ConnectionOptions, NatsConnection } from '@nats-io/transport-node';
import { connectTrouble } from './connectTrouble.ts';
import type { SecretFile } from './secrets.ts';
import { Trouble } from './sink.ts';

/** What a connection needs. */
export interface NatsTarget {
  readonly servers: readonly URL[];
  readonly box: string;
  /** The servers, for a sentence. */
  readonly name: string;
  readonly creds: SecretFile;
  readonly ca: SecretFile;
}

const CONNECT_MS = 10_000;
const PING_MS = 20_000;
const PORT = 4_222;

/**
 * Connects to one of the servers, whichever answers first in a random order. The library's own reconnecting is off: it hides why a
 * connection cannot be made, and the shipper has to ask where to go on after each anyway. The shipper never gives up.
 * @throws {Trouble} of the last server that was tried; one that refuses this box counts for more than one that is not there.
 */
export async function connectToNats(target: NatsTarget): Promise<NatsConnection> {
  const { connect } = await import('@nats-io/transport-node');
  let worst: Trouble | undefined;
  for (const url of target.servers.toSorted(() => Math.random() - 0.5)) {
    try {
      return await connect(await optionsFor(url, target));
    } catch (error) {
      const trouble = error instanceof Trouble ? error : natsTrouble(error, url.host);
      if (worst?.kind !== 'refused') worst = trouble;
    }
  }
  throw worst!;
}

async function optionsFor(url: URL, { box, creds, ca }: NatsTarget): Promise<ConnectionOptions> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const authority = ca.read();
  const isTls = url.protocol === 'tls:' || authority !== undefined;
  // The name that the certificate is for. The library leaves out an address, and Node would then look for "localhost".
  const identity = net.isIP(host) === 0 ? { servername: host } : { host };
  const tls = { ...identity, ...(authority === undefined ? {} : { ca: authority.toString() }) };
  return {
    servers: [`${url.hostname}:${url.port || PORT}`],
    ...(isTls ? { tls } : {}),
    ...(await credentialsOf(url, creds)),
    name: `courtd ${box}`,
    inboxPrefix: `_INBOX.${box}`,
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    reconnect: false,
    ignoreClusterUpdates: true,
  };
}

/** A credentials file, or else the name and password of the URL. @throws {Trouble} where the file holds something else. */
async function credentialsOf({ username, password }: URL, creds: SecretFile): Promise<ConnectionOptions> {
  const content = creds.read();
  if (content === undefined) {
    if (username === '') return {};
    const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
    return pass === '' ? { token: user } : { user, pass };
  }
  if (!/BEGIN NATS USER JWT[\s\S]*BEGIN USER NKEY SEED/.test(content.toString())) {
    throw new Trouble(
      'refused',
      'COURTD_SHIP_CREDS does not hold NATS credentials: put the file there that headquarters made for this box ("nsc generate creds").',
    );
  }
  const { credsAuthenticator } = await import('@nats-io/transport-node');
  return { authenticator: credsAuthenticator(content) };
}

/** @returns what an error of the library means. @param where the servers. */
export function natsTrouble(error: unknown, where: string): Trouble {
  const { name, message } = error as Error;
  const cause = (error as Error).cause as Error | undefined;
  const names = [name, cause?.name];
  if (
    names.some((one) => /^(Authorization|UserAuthentication)/.test(one ?? '')) ||
    /authorization|authentication/i.test(message)
  ) {
    return new Trouble(
      'refused',
      `Headquarters (${where}) does not accept the credentials of this box: put new ones where COURTD_SHIP_CREDS says, and restart ` +
        'the shipper ("sudo systemctl restart courtd-ship").',
    );
  }
  if (names.includes('PermissionViolationError') || /permissions violation/i.test(message)) {
    return new Trouble(
      'refused',
      `Headquarters (${where}) does not let this box do what it has to: give its credentials the permissions of the fleet guide, for ` +
        'this COURTD_SHIP_BOX.',
    );
  }
  if (names.includes('NoRespondersError')) {
    return new Trouble(
      'waiting',
      `Headquarters (${where}) has no stream for these events, or it is not ready: "courtd fleet check" there says which, and ` +
        '"courtd fleet init" makes it.',
    );
  }
  if (names.includes('TimeoutError')) {
    return new Trouble(
      'connecting',
      `Headquarters (${where}) does not answer. The box keeps its events and goes on trying.`,
    );
  }
  return connectTrouble(error, where);
}
