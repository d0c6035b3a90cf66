import { faultOf } from '../../nats/fault.ts';
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

/** @returns what keeps headquarters from being connected to, or from answering, with what to do about it. @param where its address. */
export function connectTrouble(error: unknown, where: string): Trouble {
  const { fault, code } = faultOf(error);
  const hq = `Headquarters (${where})`;
  switch (fault) {
    case 'credentials':
      return new Trouble(
        'refused',
        `${hq} does not accept the credentials of this box: put new ones where COURTD_SHIP_CREDS says, and restart ` +
          'the shipper ("sudo systemctl restart courtd-ship").',
      );
    case 'permissions':
      return new Trouble(
        'refused',
        `${hq} does not let this box do what it has to: give its credentials the permissions of the fleet guide, for ` +
          'this COURTD_SHIP_BOX.',
      );
    case 'name':
      return new Trouble(
        'refused',
        `The certificate of ${where} is for another name: is that the right address? Correct COURTD_SHIP_URL, or have headquarters ` +
          'renew the certificate with this name.',
      );
    case 'untrusted':
      return new Trouble(
        'refused',
        `The certificate of ${where} is signed by nobody that this box trusts: name the authority's certificate with COURTD_SHIP_CA.`,
      );
    case 'validity':
      return new Trouble(
        'refused',
        `The certificate of ${where} is not valid at this time: look at the clock of the box ("timedatectl"); if that is right, have ` +
          'headquarters renew it.',
      );
    case 'tls':
      return new Trouble(
        'refused',
        `${where} does not speak TLS as this box does (${code || (error as Error).message}): look at the scheme and the port of ` +
          'COURTD_SHIP_URL.',
      );
    case 'unready':
      return new Trouble(
        'waiting',
        `${hq} has no stream for these events, or it is not ready: "courtd fleet check" there says which, and ` +
          '"courtd fleet init" makes it.',
      );
    case 'silent':
      return new Trouble('connecting', `${hq} does not answer. The box keeps its events and goes on trying.`);
    case 'away': {
      const reason = NETWORK[code] ?? (error as Error).message;
      return new Trouble(
        'connecting',
        `${hq} cannot be reached: ${reason}. The box keeps its events and goes on trying.`,
      );
    }
  }
}
