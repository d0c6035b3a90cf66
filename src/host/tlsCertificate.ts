import { X509Certificate } from 'node:crypto';
import fs from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';
import { OperatorError } from '../base/operatorError.ts';
import { every } from '../base/pause.ts';
import { DAY_MS } from '../base/units.ts';

/** A certificate chain and its private key, in PEM: their files, or their verified contents. */
interface Pair<As> {
  readonly cert: As;
  readonly key: As;
}
export type KeyPair = Pair<Buffer>;

/** The time for which clients accept it, in ISO 8601. */
export interface Validity {
  readonly valid_from: string;
  readonly expires_at: string;
}

const NOT_RELOADED = 'the TLS certificate was not reloaded: the current one stays in use';

/** The server's TLS certificate: read at start and on reload, with a log line that describes it, and never anything of the key. */
export class TlsCertificate {
  readonly #files: Pair<string>;
  readonly #log: Logger;
  readonly #judge: (validity: Validity) => void;
  readonly stop: () => void;
  #keyPair: KeyPair;

  /**
   * @param judge is given its validity at start, on reload, and once a day.
   * @throws {OperatorError} if the files cannot be used; the message says why.
   */
  constructor(files: Pair<string>, log: Logger, judge: (validity: Validity) => void) {
    this.#files = files;
    this.#log = log;
    this.#judge = judge;
    this.#keyPair = readKeyPair(files);
    this.#describe();
    this.stop = every(DAY_MS, () => judge(this.validity));
  }

  /** Reads the files again. @param use called with the new key pair; if the files cannot be used, the current pair stays. */
  reload(use: (keyPair: KeyPair) => void): void {
    try {
      this.#keyPair = readKeyPair(this.#files);
    } catch (error) {
      return this.#log.error({ reason: (error as Error).message }, NOT_RELOADED);
    }
    use(this.#keyPair);
    this.#describe();
  }

  get keyPair(): KeyPair {
    return this.#keyPair;
  }

  get validity(): Validity {
    const { validFromDate, validToDate } = this.#certificate;
    return { valid_from: validFromDate.toISOString(), expires_at: validToDate.toISOString() };
  }

  /** What a camera may pin. */
  get fingerprint(): string {
    return sha256Of(this.#certificate);
  }

  get #certificate(): X509Certificate {
    return new X509Certificate(this.#keyPair.cert);
  }

  #describe(): void {
    const { subject, issuer, subjectAltName: names = null } = this.#certificate;
    // Node separates the parts of a distinguished name by line breaks.
    const oneLine = (name: string) => name.replaceAll('\n', ', ');
    const from = issuer === subject ? 'self-signed' : oneLine(issuer);
    const { expires_at } = this.validity;
    this.#log.info({ subject: oneLine(subject), names, issuer: from, expires_at }, 'TLS certificate in use');
    this.#judge(this.validity);
  }
}

/** @returns the fingerprint of the certificate in a file; undefined if it cannot be read. */
export function fingerprintOf(file: string): string | undefined {
  try {
    return sha256Of(new X509Certificate(fs.readFileSync(file)));
  } catch {
    return undefined;
  }
}

/** @returns what `openssl x509 -fingerprint -sha256` prints, in lower case and without colons. */
function sha256Of({ fingerprint256 }: X509Certificate): string {
  return fingerprint256.replaceAll(':', '').toLowerCase();
}

/** What is wrong with the files, by the words of Node and OpenSSL. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/key values mismatch/, 'the key does not belong to the certificate'],
  [/no start line|DECODER/, 'one of them does not hold PEM'],
  [/interrupted|bad decrypt/, 'the key is encrypted with a passphrase. Decrypt it with "openssl pkey"'],
  [/ENOENT/, 'one of them does not exist'],
  [/EACCES/, 'permission denied. Give both to the group that courtd runs as, with mode 0640'],
];

/** @throws {OperatorError} if OpenSSL rejects the files: it also checks the chain, and that no key or signature is weak. */
function readKeyPair({ cert, key }: Pair<string>): KeyPair {
  try {
    const pair = { cert: fs.readFileSync(cert), key: fs.readFileSync(key) };
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const { message } = error as Error;
    const reason = REASONS.find(([words]) => words.test(message))?.[1] ?? message;
    throw new OperatorError(
      `Cannot use the TLS certificate ${cert} (--tls-cert) with the key ${key} (--tls-key): ${reason}.`,
    );
  }
}
