import { faultOf, type NatsFault } from '../../nats/fault.ts';
import { SinkError, type SinkErrorKind } from './sink.ts';

const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ENOTFOUND: 'no such name exists',
  EAI_AGAIN: 'the name cannot be looked up now',
  EHOSTUNREACH: 'there is no route to that machine',
  ENETUNREACH: 'there is no route to that network',
  ETIMEDOUT: 'there was no answer',
  EPERM: 'this machine does not let the connection out',
  EACCES: 'this machine does not let the connection out',
};

const GOES_ON = 'The box keeps its events and goes on trying.';
/** systemd drops what the unit may not send without a word, which looks like a line that is down. */
const IF_NEVER = `${GOES_ON} If it never got through: is that address in IPAddressAllow= of courtd-ship.service?`;
const DROPPED = ['ETIMEDOUT', 'EPERM', 'EACCES'];

/** Where it is nothing that somebody has to put right on this box. */
const KINDS: Partial<Record<NatsFault, SinkErrorKind>> = {
  unready: 'waiting',
  silent: 'connecting',
  away: 'connecting',
};

/** @returns what keeps headquarters from being connected to, or from answering, with what to do about it. @param where its address. */
export function connectionError(error: unknown, where: string): SinkError {
  const { fault, code } = faultOf(error);
  return new SinkError(KINDS[fault] ?? 'refused', sentenceOf(fault, code, error as Error, where));
}

function sentenceOf(fault: NatsFault, code: string, { message }: Error, where: string): string {
  const hq = `Headquarters (${where})`;
  switch (fault) {
    case 'credentials':
      return `${hq} does not accept the credentials of this box: put new ones where COURTD_SHIP_CREDS says, or a new user and password into COURTD_SHIP_URL, and restart the shipper ("sudo systemctl restart courtd-ship").`;
    case 'permissions':
      return `${hq} does not let this box do what it has to: give its credentials the permissions of the fleet guide, for this COURTD_SHIP_BOX.`;
    case 'name':
      return `The certificate of ${where} is for another name: is that the right address? Correct COURTD_SHIP_URL, or have headquarters renew the certificate with this name.`;
    case 'untrusted':
      return `The certificate of ${where} is not signed by an authority that this box trusts: name the authority's certificate with COURTD_SHIP_CA.`;
    case 'validity':
      return `The certificate of ${where} is not valid at this time: look at the clock of the box ("timedatectl"); if that is right, have headquarters renew it.`;
    case 'tls':
      return `${where} does not speak TLS as this box does (${code || message}): look at the scheme and the port of COURTD_SHIP_URL.`;
    case 'unready':
      return `${hq} has no stream for these events, or it is not ready: "courtd fleet check" there says which, and "courtd fleet init" makes it.`;
    case 'silent':
      return `${hq} does not answer. ${IF_NEVER}`;
    case 'away':
      return `${hq} cannot be reached: ${NETWORK[code] ?? message}. ${DROPPED.includes(code) ? IF_NEVER : GOES_ON}`;
  }
}
