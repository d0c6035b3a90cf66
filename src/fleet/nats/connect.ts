import fs from 'node:fs';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
} from '@nats-io/transport-node';
import { OperatorError, reasonOf } from '../../base/operatorError.ts';
import { parseServers } from './address.ts';
import { faultOf, NatsFault } from './faults.ts';

/** The address of headquarters, and how to log in. */
export interface Headquarters {
  /** `nats://` or `tls://`, several servers of one cluster separated by commas; the first may carry `USER:PASSWORD@`. */
  readonly url: string;
  /** A NATS credentials file (a JWT and its seed). */
  readonly creds?: string | undefined;
  /** A file with the certificates that sign those of the servers; absent: those that this machine trusts. */
  readonly ca?: string | undefined;
}

/** Twice that without an answer ends the connection: the library's own two minutes are too long behind a bad line. */
const PING_MS = 20_000;
const HANDSHAKE_MS = 10_000;

/** How to connect to a headquarters. Its files are read again for each connection, so that renewed ones count at once. */
export class Connector {
  /** The servers, without anything secret. */
  readonly shown: string;
  readonly #headquarters: Headquarters;

  /** @throws {UsageError} if the URL is wrong. @throws {OperatorError} if a file cannot be read. */
  constructor(headquarters: Headquarters) {
    this.shown = parseServers(headquarters.url).shown;
    this.#headquarters = headquarters;
    for (const file of [headquarters.creds, headquarters.ca]) readSecret(file);
  }

  /** @param more options of the library. @throws {NatsFault} of the last server that was tried. */
  async connect(name: string, more: ConnectionOptions): Promise<NatsConnection> {
    const { url, ...files } = this.#headquarters;
    const { hosts, isTls, shown: _, ...login } = parseServers(url);
    try {
      const [ca, creds] = [readSecret(files.ca), readSecret(files.creds)];
      // The library checks a certificate against the name in the URL, and not at all if the URL has an address.
      const checkServerIdentity = (_name: string, certificate: PeerCertificate) =>
        identityFault(hosts, certificate);
      const tls = { checkServerIdentity, ...(ca !== undefined && { ca }) };
      return await connect({
        name,
        ...login,
        // Counts for more than the user of the URL.
        ...(creds !== undefined && { authenticator: authenticatorOf(creds) }),
        ...((isTls || ca !== undefined) && { tls }),
        pingInterval: PING_MS,
        timeout: HANDSHAKE_MS,
        // Servers announce addresses of their own network, which a venue may be unable to reach.
        ignoreClusterUpdates: true,
        ...more,
      });
    } catch (error) {
      throw faultOf(error, this.shown);
    }
  }
}

function authenticatorOf(creds: string) {
  if (/BEGIN NATS USER JWT[\s\S]*BEGIN USER NKEY SEED/.test(creds))
    return credsAuthenticator(Buffer.from(creds));
  throw new NatsFault(
    'refused',
    'The credentials file holds no NATS credentials. It must have the JWT and the seed that headquarters made for this user.',
  );
}

/** @returns the text of a file; undefined if it is empty: a unit can name a credential that may not be set. @throws {OperatorError} */
function readSecret(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    const text = fs.readFileSync(file, 'utf8');
    return text.trim() === '' ? undefined : text;
  } catch (error) {
    const reason = reasonOf(error as NodeJS.ErrnoException);
    throw new OperatorError(`Cannot read ${file}: ${reason}. Correct the path, or its rights.`);
  }
}

/** Each server of the URL is trusted like the others, so a certificate for any of them will do. */
function identityFault(hosts: readonly string[], certificate: PeerCertificate): Error | undefined {
  const faults = hosts.map((host) => checkServerIdentity(host, certificate));
  return faults.includes(undefined) ? undefined : faults[0];
}
