import { UsageError } from '../../base/operatorError.ts';

/** The servers of one cluster, and the login of their URL, if it has one. Does not load the NATS library. */
export interface Servers {
  /** HOST:PORT. */
  readonly servers: string[];
  readonly hosts: string[];
  readonly isTls: boolean;
  readonly user?: string;
  readonly pass?: string;
  /** In the place of a user and a password. */
  readonly token?: string;
}

const PORT = 4222;

/**
 * Reads `nats://` or `tls://`, several servers separated by commas. A scheme and a user that stand at the first count for all.
 * @throws {UsageError} if it is none, or mixes schemes or users.
 */
export function parseServers(url: string): Servers {
  const scheme = /^\w+:\/\//.exec(url.trim())?.[0] ?? '';
  const whole = (one: string) => (one.includes('://') ? one : `${scheme}${one}`);
  const parsed = url.split(',').map((one) => parseServer(whole(one.trim()), url));
  const first = parsed[0]!;
  const isOdd = (key: 'protocol' | 'username' | 'password') =>
    parsed.some((one) => one[key] !== first[key] && !(key !== 'protocol' && one[key] === ''));
  if (isOdd('protocol') || isOdd('username') || isOdd('password')) {
    throw new UsageError(
      'The servers of one URL must all be nats:// or all tls://, with one user: they are one cluster.',
    );
  }
  return {
    servers: parsed.map(({ host, port }) => (port === '' ? `${host}:${PORT}` : host)),
    hosts: parsed.map(({ hostname }) => hostname.replace(/^\[|\]$/g, '')),
    isTls: first.protocol === 'tls:',
    ...loginOf(first),
  };
}

function parseServer(one: string, all: string): URL {
  const url = URL.parse(one);
  if (
    url === null ||
    !/^(nats|tls):$/.test(url.protocol) ||
    url.hostname === '' ||
    !/^\/?$/.test(url.pathname)
  ) {
    throw wrongUrl(all);
  }
  return url;
}

function loginOf({ username, password }: URL): Pick<Servers, 'user' | 'pass' | 'token'> {
  if (username === '') return {};
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  return pass === '' ? { token: user } : { user, pass };
}

function wrongUrl(url: string): UsageError {
  return new UsageError(
    `"${shownUrl(url)}" is no address of NATS servers. Give nats://HOST:PORT, or tls://HOST:PORT, several separated by commas; in a password write "/" as %2F, "," as %2C, "@" as %40.`,
  );
}

/**
 * @returns one URL or several, separated by commas, as they may be shown: without user and password, also if a password has what
 * should have been escaped.
 */
export function shownUrl(text: string): string {
  return (
    text
      // A comma in the first password: servers of one URL have a user from the first on, or none.
      .replace(/^((?:nats|tls):\/\/)[^@]*,.*@/i, '$1')
      .split(',')
      .map((one) =>
        one
          .trim()
          .replace(/^((?:nats|tls):\/\/).*@/i, '$1')
          .replace(/^([a-z]*:?[\\/]*)[^\\/?#]*@/i, '$1')
          .replace(/\/$/, ''),
      )
      .join(',')
  );
}
