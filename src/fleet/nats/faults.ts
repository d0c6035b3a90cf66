import { JetStreamApiError } from '@nats-io/jetstream';
import { OperatorError } from '../../base/operatorError.ts';

/** A fault of the servers, or of a request to them. */
export type FaultKind =
  /** They cannot be reached, or do not answer. */
  | 'away'
  /** They answer, and cannot do it now. */
  | 'busy'
  /** A person has to change something. */
  | 'refused';

/** Why NATS did not do something. The message says what happened and what to do. */
export class NatsFault extends OperatorError {
  readonly kind: FaultKind;

  constructor(kind: FaultKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** Codes of JetStream (errors.json of nats-server). */
export const CODE = {
  noStream: 10_059,
  notClustered: 10_074,
  noPeers: 10_005,
  tooLarge: 10_054,
  /** The last message of the subject is another one than was expected. */
  moved: [10_071, 10_164] as readonly number[],
} as const;
const [NOT_ENABLED, NOT_NOW] = [
  [10_039, 10_076],
  [10_004, 10_005, 10_008, 10_009],
];

const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'no such name exists',
  EAI_AGAIN: 'the name cannot be looked up now',
  ETIMEDOUT: 'there was no answer',
  EPERM: 'this machine does not let the connection out',
};
const UNTRUSTED = /^(DEPTH_ZERO_)?SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY|GET_ISSUER)|^CERT_/;

/** @returns JetStream's code of an error; undefined if it is another one. */
export function codeOf(error: unknown): number | undefined {
  const found = chainOf(error).find((one) => one instanceof JetStreamApiError);
  return found?.code as number | undefined;
}

/**
 * @param error of the system, of Node's TLS or of NATS's library.
 * @param where the servers, without anything secret.
 * @returns what it means, as one sentence of what happened and one of what to do; a NatsFault as it is.
 */
export function faultOf(error: unknown, where: string): NatsFault {
  if (error instanceof NatsFault) return error;
  const chain = chainOf(error);
  const names = chain.map(({ name }) => name).join(' ');
  const text = chain.map(({ message }) => message).join(' ');
  const code = chain.map((one) => one.code).find((one): one is string => typeof one === 'string') ?? '';
  const api = codeOf(error);
  const table: readonly [boolean, FaultKind, string][] = [
    [
      /Authorization|UserAuthentication/.test(names) || /authorization|authentication/i.test(text),
      'refused',
      `${where} rejects the user or the credentials. Give new ones: COURTD_SHIP_CREDS or COURTD_SHIP_URL on a box, --creds or the URL for "courtd fleet".`,
    ],
    [
      /PermissionViolation/.test(names) || /permissions violation/i.test(text),
      'refused',
      `${where} does not let this user do that (${text}). Give a box the permissions of FLEET.md for its COURTD_SHIP_BOX; "courtd fleet" needs the user of headquarters.`,
    ],
    [
      code === 'ERR_TLS_CERT_ALTNAME_INVALID',
      'refused',
      `The certificate of ${where} is for another name. Correct the name in the URL, or renew the certificate with this name.`,
    ],
    [
      code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID',
      'refused',
      `The certificate of ${where} is not valid at this time. Check the clock of this machine ("timedatectl"); if it is right, renew the certificate.`,
    ],
    [
      UNTRUSTED.test(code),
      'refused',
      `The certificate of ${where} is not signed by an authority that this machine trusts. Name the authority's certificate: COURTD_SHIP_CA on a box, --ca for "courtd fleet".`,
    ],
    [
      /^ERR_(SSL|TLS)_|^EPROTO$/.test(code) || (code === '' && /\btls\b/i.test(text)),
      'refused',
      `${where} and this machine do not agree on TLS (${code || text}). Check the scheme and the port of the URL.`,
    ],
    [
      api !== undefined && NOT_ENABLED.includes(api),
      'refused',
      `JetStream is not enabled for this user on ${where}. Enable it: FLEET.md has a configuration.`,
    ],
    [
      api === CODE.noStream || /NoResponders/.test(names),
      'busy',
      `${where} has no stream of a fleet, or is not ready. Create the stream with "courtd fleet init URL", and check that more than half of the servers run.`,
    ],
    [
      api !== undefined,
      'busy',
      `${where} does not do that now: ${text}. Check the servers; it is tried again.`,
    ],
    [
      /^Timeout| Timeout/.test(names),
      'away',
      `${where} does not answer. Check that more than half of the servers run, and that IPAddressAllow= of courtd-ship.service has their addresses.`,
    ],
  ];
  const [, kind, message] = table.find(([isSo]) => isSo) ?? [
    true,
    'away' as const,
    `${where} cannot be reached: ${NETWORK[code] ?? text}. Check the line, and that IPAddressAllow= of courtd-ship.service has the address.`,
  ];
  return new NatsFault(kind, message, error);
}

/** Whether it may go away by itself within a minute: during an election requests may stay unanswered, too. */
export function passes(error: unknown): boolean {
  const api = codeOf(error);
  if (api !== undefined) return NOT_NOW!.includes(api);
  return !(error instanceof OperatorError) && faultOf(error, '').kind !== 'refused';
}

type Coded = Error & { readonly code?: unknown };

/** Libraries put the system's error into theirs. */
function chainOf(error: unknown): Coded[] {
  const chain: Coded[] = [];
  for (let one = error; one instanceof Error; one = one.cause) chain.push(one as Coded);
  return chain;
}
