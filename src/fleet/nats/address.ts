import { UsageError } from '../../base/operatorError.ts';

/** The servers of one cluster, and how to log in, as a URL has them. Loads nothing of NATS. */
export interface Servers {
  /** HOST:PORT. */
  readonly servers: string[];
  readonly hosts: string[];
  readonly isTls: boolean;
  readonly user?: string;
  readonly pass?: string;
  /** In the place of a user and a password. */
  readonly token?: string;
  /** The URL, without anything secret. */
  readonly shown: string;
}

const PORT = 4222;

/** Scheme, user, password, and the servers; what separates them is percent-encoded inside. */
const URL_OF_SERVERS = /^(nats|tls):\/\/(?:([^@/,:]*)(?::([^@/,]*))?@)?([^@]+)$/;

/**
 * Reads `nats://` or `tls://`, several servers separated by commas. The user counts for all.
 * @throws {UsageError} if it is malformed, or mixes schemes or users.
 */
export function parseServers(text: string): Servers {
  const [, scheme, user = '', pass = '', list = ''] = URL_OF_SERVERS.exec(text.trim()) ?? [];
  const urls = list.split(',').flatMap((server) => {
    const url = URL.parse(`${scheme}://${server.trim().replace(`${scheme}://`, '')}`);
    return url !== null && url.hostname !== '' && /^\/?$/.test(url.pathname) ? url : [];
  });
  if (urls.length < list.split(',').length)
    throw new UsageError(
      `"${text.replace(/^.*@/s, '…@')}" is not an address of NATS servers. Give nats://HOST:PORT or tls://HOST:PORT, several separated by commas, with one scheme and one user; in a password write "/" as %2F, "," as %2C, "@" as %40.`,
    );
  const [name, secret] = [decodeURIComponent(user), decodeURIComponent(pass)];
  return {
    servers: urls.map(({ host, port }) => (port === '' ? `${host}:${PORT}` : host)),
    hosts: urls.map(({ hostname }) => hostname.replace(/^\[|\]$/g, '')),
    isTls: scheme === 'tls',
    ...(name === '' ? {} : secret === '' ? { token: name } : { user: name, pass: secret }),
    shown: urls.map(({ host }) => `${scheme}://${host}`).join(','),
  };
}

/** @returns a URL as it may be shown: without user and password, and nothing of one that is wrong. */
export function shownUrl(text: string): string {
  try {
    return parseServers(text).shown;
  } catch {
    return 'a wrong URL';
  }
}
