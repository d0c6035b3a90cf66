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

/**
 * Reads `nats://` or `tls://`, several servers separated by commas. A scheme and a user that stand at the first count for all.
 * @throws {UsageError} if it is none, or mixes schemes or users.
 */
export function parseServers(text: string): Servers {
  const scheme = /^\w+:\/\//.exec(text.trim())?.[0] ?? '';
  const urls = text.split(',').map((one) => {
    const url = URL.parse(one.includes('://') ? one.trim() : `${scheme}${one.trim()}`);
    const isServer = url !== null && /^(nats|tls):$/.test(url.protocol) && /^\/?$/.test(url.pathname);
    if (isServer && url.hostname !== '') return url;
    throw new UsageError(
      `"${text.replace(/^.*@/s, '…@')}" is no address of NATS servers. Give nats://HOST:PORT, or tls://HOST:PORT, several separated by commas; in a password write "/" as %2F, "," as %2C, "@" as %40.`,
    );
  });
  const { protocol, username, password } = urls[0]!;
  const isOne = urls.every(
    (url) =>
      url.protocol === protocol &&
      ['', username].includes(url.username) &&
      ['', password].includes(url.password),
  );
  if (!isOne)
    throw new UsageError(
      'The servers of one URL must all be nats:// or all tls://, with one user: they are one cluster.',
    );
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  return {
    servers: urls.map(({ host, port }) => (port === '' ? `${host}:${PORT}` : host)),
    hosts: urls.map(({ hostname }) => hostname.replace(/^\[|\]$/g, '')),
    isTls: protocol === 'tls:',
    ...(user === '' ? {} : pass === '' ? { token: user } : { user, pass }),
    shown: urls.map(({ host }) => `${protocol}//${host}`).join(','),
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
