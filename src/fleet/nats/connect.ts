import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { type ConnectionOptions, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { OperatorError } from '../../base/operatorError.ts';
import { SecretFile } from '../../base/secretFile.ts';
import { parseServers, type Servers, shownUrl } from './address.ts';
import { connectQuietly } from './connectQuietly.ts';
import { faultOf } from './fault.ts';

/** Where headquarters is, and how to get in. */
interface Headquarters {
  /** `nats://` or `tls://`, several servers separated by commas; each may carry `USER:PASSWORD@`. */
  readonly url: string;
  /** A NATS credentials file (a JWT and its seed). */
  readonly creds?: string | undefined;
  /** A file with the certificates that sign those of the servers; absent: what this machine trusts. */
  readonly ca?: string | undefined;
  /** What the servers' monitoring shows of this connection. */
  readonly name: string;
  /** Whether a connection that is lost is made again however long that takes; absent: a person waits for the answer. */
  readonly forever?: boolean;
}

/** Twice that without an answer, and the connection is made anew: two minutes, the library's own, are too long behind a bad line. */
const PING_MS = 20_000;
const HANDSHAKE_MS = 10_000;
const RECONNECT_MS = { least: 1_000, jitter: 1_000 };
/** For one who waits: half a minute in which the servers may be started again. */
const RECONNECTS = 15;

/**
 * Connects to headquarters for a command there, and goes on connecting where the connection is lost.
 * @throws {UsageError} where the URL is wrong.
 * @throws {OperatorError} what is wrong and what to do.
 */
export async function connectTo(headquarters: Headquarters): Promise<NatsConnection> {
  const { url, creds, ca, name, forever = false } = headquarters;
  const servers = parseServers(url);
  const authority = new SecretFile(ca, 'the certificates of headquarters').read();
  const options: ConnectionOptions = {
    ...optionsOf(servers, name, authority),
    ...credentialsOf(
      new SecretFile(creds, 'the credentials'),
      new OperatorError(`${creds} is no NATS credentials file: it must hold a user's JWT and its seed.`),
    ),
    maxReconnectAttempts: forever ? -1 : RECONNECTS,
    reconnectTimeWait: RECONNECT_MS.least,
    reconnectJitter: RECONNECT_MS.jitter,
    reconnectJitterTLS: RECONNECT_MS.jitter,
  };
  try {
    return await connectQuietly(options);
  } catch (error) {
    throw new OperatorError(connectionFault(error, shownUrl(url)));
  }
}

/**
 * What is the same for every connection of boxes and of headquarters.
 * @param name what the servers' monitoring shows of it. @param ca the certificates that sign those of the servers.
 */
export function optionsOf(
  { servers, hosts, isTls, ...login }: Servers,
  name: string,
  ca: Buffer | undefined,
): ConnectionOptions {
  const tls = {
    // The library checks a server's certificate against a name, and knows none where the URL has an address.
    checkServerIdentity: (_name: string, certificate: PeerCertificate) => identityFault(hosts, certificate),
    ...(ca === undefined ? {} : { ca: ca.toString() }),
  };
  return {
    servers,
    name,
    ...login,
    ...(isTls || ca !== undefined ? { tls } : {}),
    pingInterval: PING_MS,
    timeout: HANDSHAKE_MS,
    // What servers say of each other are addresses of their own network, which a venue need not reach, or may not.
    ignoreClusterUpdates: true,
  };
}

/**
 * @returns the option that logs in with a credentials file, if there is one. It counts for more than the user of the URL, and is read
 * again for each connection, so that credentials which were renewed are used without a restart.
 * @throws `wrong` where the file holds something else.
 */
export function credentialsOf(file: SecretFile, wrong: Error): ConnectionOptions {
  const bytes = file.read();
  if (bytes === undefined) return {};
  if (!/BEGIN NATS USER JWT[\s\S]*BEGIN USER NKEY SEED/.test(bytes.toString('latin1'))) throw wrong;
  return { authenticator: (nonce) => credsAuthenticator(file.read() ?? bytes)(nonce) };
}

/** Each server that is named is trusted like the others, so a certificate for any of them will do. */
function identityFault(hosts: readonly string[], certificate: PeerCertificate): Error | undefined {
  const faults = hosts.map((host) => checkServerIdentity(host, certificate));
  return faults.includes(undefined) ? undefined : faults[0];
}

/** @returns the sentence for a connection that did not come about, or ended for good. */
export function connectionFault(error: unknown, where: string): string {
  const { fault, code } = faultOf(error);
  switch (fault) {
    case 'credentials':
      return `${where} refuses this user: its credentials are missing, wrong, expired or revoked. Ask headquarters for new ones.`;
    case 'name':
      return `The certificate of ${where} is for another name. Give the name that it was made for in the URL, or a certificate with this one.`;
    case 'validity':
      return `The certificate of ${where} is not valid at this time (${code}). Look at the clock of this machine; if that is right, renew it.`;
    case 'untrusted':
      return `The certificate of ${where} is not trusted here (${code}). Name the file that signs it as the CA.`;
    case 'tls':
      return `${where} and this machine do not agree on TLS: tls:// needs servers with a certificate.`;
    default:
      return code === 'ENOTFOUND' || code === 'EAI_AGAIN'
        ? `No address is known for ${where}: look at the spelling, and at the name server of this machine.`
        : `Nothing answers at ${where}. Look whether the servers run, and whether a firewall is in between.`;
  }
}
