import fs from 'node:fs';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  type Authenticator,
  AuthorizationError,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
  UserAuthenticationExpiredError,
} from '@nats-io/transport-node';
import { OperatorError } from '../base/operatorError.ts';

/** Where headquarters is, and how to get in. */
export interface Headquarters {
  /** `nats://` or `tls://`, several servers separated by commas; each may carry `USER:PASSWORD@`. */
  readonly url: string;
  /** A NATS credentials file (a JWT and its seed). */
  readonly creds?: string;
  /** A file with the certificates that sign those of the servers; absent: what this machine trusts. */
  readonly ca?: string;
  /** What the servers' monitoring shows of this connection. */
  readonly name: string;
  /** Whether to go on trying for ever, also before the first connection; absent: a person waits for the answer. */
  readonly forever?: boolean;
}

const PORT = 4222;
/** Twice that without an answer, and the connection is made anew: two minutes, the library's own, are too long behind a bad line. */
const PING_MS = 20_000;
const HANDSHAKE_MS = 10_000;
const RECONNECT_MS = { least: 1_000, jitter: 1_000 };
/** For one who waits: half a minute in which the servers may be started again. */
const RECONNECTS = 15;

interface Servers {
  /** HOST:PORT. */
  readonly servers: string[];
  readonly hosts: string[];
  readonly isTls: boolean;
  readonly user?: string;
  readonly pass?: string;
}

/**
 * Reads a list of servers.
 * @throws {OperatorError} where it is none, or mixes schemes or users.
 */
export function parseServers(url: string): Servers {
  const scheme = /^\w+:\/\//.exec(url.trim())?.[0] ?? '';
  const whole = (one: string) => (one.includes('://') ? one : `${scheme}${one}`);
  const parsed = url.split(',').map((one) => parseServer(whole(one.trim())));
  const [first] = parsed;
  if (first === undefined) throw wrongUrl(url);
  const isOdd = (key: 'protocol' | 'username' | 'password') =>
    parsed.some((one) => one[key] !== first[key] && !(key !== 'protocol' && one[key] === ''));
  if (isOdd('protocol') || isOdd('username') || isOdd('password')) {
    throw new OperatorError(
      'The servers of one URL must all be nats:// or all tls://, with one user: they are one cluster.',
    );
  }
  return {
    servers: parsed.map(({ host, port }) => (port === '' ? `${host}:${PORT}` : host)),
    hosts: parsed.map(({ hostname }) => hostname.replace(/^\[|\]$/g, '')),
    isTls: first.protocol === 'tls:',
    ...(first.username === ''
      ? {}
      : { user: decodeURIComponent(first.username), pass: decodeURIComponent(first.password) }),
  };
}

function parseServer(one: string): URL {
  let url: URL;
  try {
    url = new URL(one);
  } catch {
    throw wrongUrl(one);
  }
  if (!/^(nats|tls):$/.test(url.protocol) || url.hostname === '' || !/^\/?$/.test(url.pathname)) {
    throw wrongUrl(one);
  }
  return url;
}

function wrongUrl(url: string): OperatorError {
  return new OperatorError(
    `"${withoutSecrets(url)}" is no address of NATS servers. Give nats://HOST:PORT, or tls://HOST:PORT, several separated by commas.`,
  );
}

/** @returns the URL as it may be shown: without user and password. */
export function withoutSecrets(url: string): string {
  return url.replace(/\/\/[^/@,]*@/g, '//');
}

/**
 * Connects. Reconnecting, the ping and TLS are set here once, for every command.
 * @throws {OperatorError} what is wrong and what to do; not where it goes on for ever, unless a file cannot be read.
 */
export async function connectTo(headquarters: Headquarters): Promise<NatsConnection> {
  const { servers, hosts, isTls, ...login } = parseServers(headquarters.url);
  const { creds, ca, name, forever = false } = headquarters;
  const tls = {
    // The library checks a server's certificate against a name, and knows none where the URL has an address.
    checkServerIdentity: (_name: string, certificate: PeerCertificate) => identityFault(hosts, certificate),
    ...(ca === undefined ? {} : { ca: readFile(ca, 'the certificates of headquarters').toString() }),
  };
  const options: ConnectionOptions = {
    servers,
    name,
    ...login,
    ...(creds === undefined ? {} : { authenticator: credentials(creds) }),
    ...(isTls || ca !== undefined ? { tls } : {}),
    pingInterval: PING_MS,
    timeout: HANDSHAKE_MS,
    waitOnFirstConnect: forever,
    maxReconnectAttempts: forever ? -1 : RECONNECTS,
    ignoreAuthErrorAbort: forever,
    // What servers say of each other are addresses of their own network, which a venue need not reach, or may not.
    ignoreClusterUpdates: true,
    reconnectTimeWait: RECONNECT_MS.least,
    reconnectJitter: RECONNECT_MS.jitter,
    reconnectJitterTLS: RECONNECT_MS.jitter,
  };
  try {
    return await connect(options);
  } catch (error) {
    throw new OperatorError(connectionFault(error as Error, headquarters));
  }
}

/** Read again for each connection, so that credentials which were renewed are used without a restart. */
function credentials(file: string): Authenticator {
  let bytes = readCredentials(file);
  return (nonce) => {
    try {
      bytes = readCredentials(file);
    } catch {
      // It is being replaced: the next connection reads it again.
    }
    return credsAuthenticator(bytes)(nonce);
  };
}

function readCredentials(file: string): Buffer {
  const bytes = readFile(file, 'the credentials');
  const text = bytes.toString('latin1');
  if (/BEGIN NATS USER JWT/.test(text) && /BEGIN USER NKEY SEED/.test(text)) return bytes;
  throw new OperatorError(
    `${file} is no NATS credentials file: it must hold a user's JWT and its seed, as "nsc generate creds" writes them.`,
  );
}

function readFile(file: string, what: string): Buffer {
  try {
    return fs.readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT' ? 'there is no such file' : code === 'EACCES' ? 'this user may not read it' : code;
    throw new OperatorError(`Cannot read ${what} in ${file}: ${why}.`);
  }
}

/** Each server that is named is trusted like the others, so a certificate for any of them will do. */
function identityFault(hosts: readonly string[], certificate: PeerCertificate): Error | undefined {
  const faults = hosts.map((host) => checkServerIdentity(host, certificate));
  return faults.includes(undefined) ? undefined : faults[0];
}

function isRefusal(error: Error): boolean {
  return error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError;
}

/** @returns the sentence for a connection that did not come about, or was lost. */
export function connectionFault(error: Error, { url }: Pick<Headquarters, 'url'>): string {
  const where = withoutSecrets(url);
  const chain = [error, ...(error.cause instanceof Error ? [error.cause] : [])];
  const codes = chain.map((one) => (one as NodeJS.ErrnoException).code ?? '');
  const text = chain.map(({ message }) => message).join(' ');
  if (chain.some(isRefusal) || /user authentication/i.test(text))
    return `${where} refuses this user: its credentials are missing, wrong, expired or revoked. Ask headquarters for new ones.`;
  if (codes.includes('ERR_TLS_CERT_ALTNAME_INVALID'))
    return `The certificate of ${where} is for another name. Give the name that it was made for in the URL, or a certificate with this one.`;
  if (/CERT|ISSUER|SIGNATURE|SELF_SIGNED/.test(codes.join(' ')) || /certificate/i.test(text))
    return `The certificate of ${where} is not trusted here (${codes.find((code) => code !== '') ?? text}). Name the file that signs it as the CA.`;
  if (/tls/i.test(text))
    return `${where} and this box do not agree on TLS: tls:// needs servers with a certificate.`;
  if (codes.includes('ENOTFOUND') || codes.includes('EAI_AGAIN'))
    return `No address is known for ${where}: look at the spelling, and at the name server of this machine.`;
  return `Nothing answers at ${where}. Look whether the servers run, and whether a firewall is in between.`;
}
