import { Trouble } from './sink.ts';

const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ENOTFOUND: 'there is no such name',
  EAI_AGAIN: 'the name cannot be looked up now',
  EHOSTUNREACH: 'there is no way to that machine',
  ENETUNREACH: 'there is no way to that network',
  ETIMEDOUT: 'nobody answers there',
  EPERM: 'this machine does not let the connection out (IPAddressAllow= of courtd-ship.service)',
  EACCES: 'this machine does not let the connection out (IPAddressAllow= of courtd-ship.service)',
};

const UNTRUSTED =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?))$/;

/** @returns what keeps a connection to headquarters from being made, with what to do about it. @param where its address. */
export function connectTrouble(error: unknown, where: string): Trouble {
  const code = codeOf(error);
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return new Trouble(
      'refused',
      `The certificate of ${where} is for another name: is that the right address? Correct COURTD_SHIP_URL, or have headquarters ` +
        'renew the certificate with this name.',
    );
  }
  if (UNTRUSTED.test(code)) {
    return new Trouble(
      'refused',
      `The certificate of ${where} is signed by nobody that this box trusts: name the authority's certificate with COURTD_SHIP_CA.`,
    );
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return new Trouble(
      'refused',
      `The certificate of ${where} is not valid at this time: look at the clock of the box ("timedatectl"); if that is right, have ` +
        'headquarters renew it.',
    );
  }
  if (/^ERR_(SSL|TLS)_/.test(code) || code === 'EPROTO') {
    return new Trouble(
      'refused',
      `${where} does not speak TLS as this box does (${code}): look at the scheme and the port of COURTD_SHIP_URL.`,
    );
  }
  const reason = NETWORK[code] ?? (error as Error).message;
  return new Trouble(
    'connecting',
    `Headquarters (${where}) cannot be reached: ${reason}. The box keeps its events and goes on trying.`,
  );
}

/** Libraries put the system's error into theirs. */
function codeOf(error: unknown): string {
  for (let one = error as NodeJS.ErrnoException | undefined; one != null; one = one.cause as typeof one) {
    if (typeof one.code === 'string') return one.code;
  }
  return '';
}
