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
  /** The last message of the subject is another one than was expected. */
  moved: [10_071, 10_164] as readonly number[],
  /** There is no leader now, or too few servers run. */
  notNow: [10_004, 10_005, 10_008, 10_009] as readonly number[],
} as const;

/**
 * What an error means: the first row whose pattern matches its line of names, codes and messages counts. WHERE are the servers, WHY is
 * the message.
 */
const FAULTS: readonly (readonly [RegExp, FaultKind, string])[] = [
  [
    /authori[sz]ation|authentication/i,
    'refused',
    'WHERE rejects the user or the credentials. Give new ones: COURTD_SHIP_CREDS or COURTD_SHIP_URL on a box, COURTD_FLEET_CREDS or the URL for "courtd fleet".',
  ],
  [
    /permissions? ?violation/i,
    'refused',
    'WHERE does not let this user do that (WHY). Give a box the permissions of FLEET.md for its COURTD_SHIP_BOX; "courtd fleet" needs the user of headquarters.',
  ],
  [
    /SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET_ISSUER)|\bCERT_|ERR_(SSL|TLS)_|EPROTO|\btls\b/i,
    'refused',
    'This machine does not accept the certificate of WHERE, or its TLS (WHY). Check the scheme, the name and the port in the URL, the clock ("timedatectl"), and the certificate of the authority: COURTD_SHIP_CA on a box, COURTD_FLEET_CA for "courtd fleet".',
  ],
  [
    /\b10054\b|max_payload size exceeded/,
    'refused',
    'WHERE does not accept a message that is as large as the next event. Set "max_payload: 9MB" on the servers and run "courtd fleet init"; nothing is shipped until then.',
  ],
  [/\b10(?!059)\d{3}\b/, 'busy', 'WHERE does not do that now: WHY. Check the servers; it is tried again.'],
  [
    // What the library cannot read as an answer ends in an error of JavaScript's own.
    /\b10059\b|NoResponders|^(JetStream\w*|Syntax|Type)Error/,
    'busy',
    'WHERE has no stream of a fleet, or is not ready. Check the URL, create the stream with "courtd fleet init URL", and check that more than half of the servers run.',
  ],
  [/\bTimeoutError/, 'away', 'WHERE does not answer. Check that more than half of the servers run.'],
  [/(?:)/, 'away', 'WHERE cannot be reached: WHY. Check the line, the name and the firewalls.'],
];

/**
 * @param where the servers, without anything secret.
 * @returns what an error means: what happened, and what to do; a NatsFault as it is.
 */
export function faultOf(error: unknown, where: string): NatsFault {
  if (error instanceof NatsFault) return error;
  const chain = chainOf(error);
  const line = chain.map(({ name, code = '', message }) => `${name} ${code} ${message}`).join(' ');
  const [, kind, sentence] = FAULTS.find(([pattern]) => pattern.test(line))!;
  const values = { WHERE: where, WHY: chain.map(({ message, code }) => message || code).join(' ') };
  const message = sentence.replace(/WHERE|WHY/g, (name) => values[name as keyof typeof values]);
  return new NatsFault(kind, message, error);
}

/** @returns JetStream's code of an error; undefined if it is another one. */
export function codeOf(error: unknown): number | undefined {
  return chainOf(error).find((one) => one instanceof JetStreamApiError)?.code as number | undefined;
}

/** Whether it may go away by itself within a minute: during an election requests may stay unanswered, too. */
export function passes(error: unknown): boolean {
  const api = codeOf(error);
  if (api !== undefined) return CODE.notNow.includes(api);
  return !(error instanceof OperatorError) && faultOf(error, '').kind !== 'refused';
}

/** Libraries put the system's error into theirs. */
function chainOf(error: unknown): (Error & { readonly code?: unknown })[] {
  return error instanceof Error ? [error, ...chainOf(error.cause)] : [];
}
