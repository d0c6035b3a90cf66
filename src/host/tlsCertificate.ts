import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import fs from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';
import { OperatorError } from '../base/operatorError.ts';
import { every } from '../base/pause.ts';
import { DAY_MS } from '../base/units.ts';

/** Paths of the certificate and its private key, in PEM. */
interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** A certificate chain and its private key, in PEM, verified to be usable. */
export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

const EXPIRY_CHECK_MS = DAY_MS;

/** The time for which clients accept it, in ISO 8601. */
export interface Validity {
  readonly valid_from: string;
  readonly expires_at: string;
}

/**
 * The server's TLS certificate: read at start and on reload, with a log line that describes it. No message contains anything of
 * the key.
 */
export class TlsCertificate {
  readonly #files: CertificateFiles;
  readonly #log: Logger;
  readonly #judge: (validity: Validity) => void;
  readonly stop: () => void;
  #keyPair: KeyPair;

  /**
   * @param judge is given its validity at start, on reload, and once a day.
   * @throws {OperatorError} if the files cannot be used; the message says why.
   */
  constructor(files: CertificateFiles, log: Logger, judge: (validity: Validity) => void) {
    this.#files = files;
    this.#log = log;
    this.#judge = judge;
    this.#keyPair = readKeyPair(files);
    this.#describe();
    this.stop = every(EXPIRY_CHECK_MS, () => judge(this.validity));
  }

  get keyPair(): KeyPair {
    return this.#keyPair;
  }

  /**
   * Reads the files again.
   * @param use called with the new key pair; not called if the files cannot be used, and the current pair stays.
   */
  reload(use: (keyPair: KeyPair) => void): void {
    try {
      this.#keyPair = readKeyPair(this.#files);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      this.#log.error(
        { reason: error.message },
        'the TLS certificate was not reloaded: the current one stays in use',
      );
      return;
    }
    use(this.#keyPair);
    this.#describe();
  }

  get validity(): Validity {
    return validityOf(this.#keyPair.cert);
  }

  /** What a camera may pin. */
  get fingerprint(): string {
    return fingerprintOf(new X509Certificate(this.#keyPair.cert));
  }

  #describe(): void {
    const { subject, issuer, subjectAltName, validTo } = new X509Certificate(this.#keyPair.cert);
    const line = {
      subject: oneLine(subject),
      names: subjectAltName ?? null,
      issuer: issuer === subject ? 'self-signed' : oneLine(issuer),
      expires_at: timeOf(validTo),
    };
    this.#log.info(line, 'TLS certificate in use');
    if (isOpenToAll(this.#files.key)) {
      this.#log.warn('every user of this machine can read the TLS key: set its mode to 0640');
    }
    this.#judge(this.validity);
  }
}

/** @throws {OperatorError} if a file cannot be read or used, or the two do not belong together. */
export function readKeyPair({ cert, key }: CertificateFiles): KeyPair {
  const pair = { cert: readFile(cert, 'certificate', 'cert'), key: readFile(key, 'key', 'key') };
  const privateKey = keyOf(pair.key, key);
  if (!certificateOf(pair.cert, cert).checkPrivateKey(privateKey)) {
    throw new OperatorError(
      `The TLS key ${key} does not belong to the certificate ${cert}: use the key that the certificate was made for.`,
    );
  }
  try {
    // OpenSSL also checks the chain, and rejects short keys and weak signatures.
    createSecureContext(pair);
  } catch (error) {
    throw new OperatorError(`OpenSSL cannot use the TLS certificate ${cert}: ${reasonOf(error)}.`);
  }
  return pair;
}

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file.',
  EACCES: 'permission denied. Give the file to the group that courtd runs as, with mode 0640.',
  EISDIR: 'it is a directory.',
};

function readFile(file: string, what: string, option: string): Buffer {
  try {
    return fs.readFileSync(file);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const reason = READ_FAILURES[code] ?? `${code}.`;
    throw new OperatorError(`Cannot read the TLS ${what} ${file} (--tls-${option}): ${reason}`);
  }
}

function certificateOf(pem: Buffer, file: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new OperatorError(`There is no certificate in ${file} (--tls-cert): it must hold one in PEM.`);
  }
}

function keyOf(pem: Buffer, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    if (pem.includes('ENCRYPTED')) {
      throw new OperatorError(
        `The TLS key ${file} is encrypted with a passphrase, and courtd cannot ask for it: ` +
          `decrypt it with "openssl pkey -in ${file} -out FILE".`,
      );
    }
    throw new OperatorError(`There is no private key in ${file} (--tls-key): it must hold one in PEM.`);
  }
}

/** @returns SHA-256 of the whole certificate, in lower-case hex: what `openssl x509 -fingerprint -sha256` prints, without colons. */
export function fingerprintOf({ fingerprint256 }: X509Certificate): string {
  return fingerprint256.replaceAll(':', '').toLowerCase();
}

export function isOpenToAll(file: string): boolean {
  return ((fs.statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0;
}

/** @returns OpenSSL's reason without its error numbers. */
function reasonOf(error: unknown): string {
  const { message } = error as Error;
  return /^error:\w+:[^:]*:[^:]*:(.+)$/.exec(message)?.[1] ?? message;
}

/** Node separates the parts of a distinguished name by line breaks. */
function oneLine(name: string): string {
  return name.split('\n').join(', ');
}

/** @param cert in PEM. */
export function validityOf(cert: Buffer): Validity {
  const { validFrom, validTo } = new X509Certificate(cert);
  return { valid_from: timeOf(validFrom), expires_at: timeOf(validTo) };
}

/** @returns an OpenSSL date in ISO 8601. */
function timeOf(date: string): string {
  return new Date(date).toISOString();
}
