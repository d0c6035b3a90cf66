import { createPrivateKey, X509Certificate } from 'node:crypto';
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

/** The time for which clients accept it, in ISO 8601. */
export interface Validity {
  readonly valid_from: string;
  readonly expires_at: string;
}

/** The server's TLS certificate: read at start and on reload, with a log line that describes it, and never anything of the key. */
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
    this.stop = every(DAY_MS, () => judge(this.validity));
  }

  get keyPair(): KeyPair {
    return this.#keyPair;
  }

  /** Reads the files again. @param use called with the new key pair; if the files cannot be used, the current pair stays. */
  reload(use: (keyPair: KeyPair) => void): void {
    try {
      this.#keyPair = readKeyPair(this.#files);
    } catch (error) {
      const reason = (error as Error).message;
      return this.#log.error(
        { reason },
        'the TLS certificate was not reloaded: the current one stays in use',
      );
    }
    use(this.#keyPair);
    this.#describe();
  }

  get validity(): Validity {
    const { validFromDate, validToDate } = this.#certificate;
    return { valid_from: validFromDate.toISOString(), expires_at: validToDate.toISOString() };
  }

  /** What a camera may pin. */
  get fingerprint(): string {
    return fingerprintOf(this.#keyPair.cert);
  }

  get #certificate(): X509Certificate {
    return new X509Certificate(this.#keyPair.cert);
  }

  #describe(): void {
    const { subject, issuer, subjectAltName: names = null } = this.#certificate;
    const from = issuer === subject ? 'self-signed' : oneLine(issuer);
    const { expires_at } = this.validity;
    this.#log.info({ subject: oneLine(subject), names, issuer: from, expires_at }, 'TLS certificate in use');
    this.#judge(this.validity);
  }
}

/** @returns SHA-256 of a certificate in PEM, in lower-case hex: what `openssl x509 -fingerprint -sha256` prints, without colons. */
export function fingerprintOf(cert: Buffer): string {
  return new X509Certificate(cert).fingerprint256.replaceAll(':', '').toLowerCase();
}

function readKeyPair(files: CertificateFiles): KeyPair {
  const pair = { cert: readFile(files.cert, 'certificate', 'cert'), key: readFile(files.key, 'key', 'key') };
  const certificate = parsed(
    () => new X509Certificate(pair.cert),
    `certificate in ${files.cert} (--tls-cert)`,
  );
  if (pair.key.includes('ENCRYPTED')) {
    throw new OperatorError(
      `The TLS key ${files.key} is encrypted with a passphrase. Decrypt it with "openssl pkey -in ${files.key} -out FILE".`,
    );
  }
  const key = parsed(() => createPrivateKey(pair.key), `private key in ${files.key} (--tls-key)`);
  if (!certificate.checkPrivateKey(key)) {
    throw new OperatorError(
      `The TLS key ${files.key} does not belong to the certificate ${files.cert}. Use the key that the certificate was made for.`,
    );
  }
  try {
    // OpenSSL also checks the chain, and rejects short keys and weak signatures.
    createSecureContext(pair);
  } catch (error) {
    throw new OperatorError(
      `OpenSSL cannot use the TLS certificate ${files.cert}: ${(error as Error).message}.`,
    );
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

function parsed<T>(parse: () => T, what: string): T {
  try {
    return parse();
  } catch {
    throw new OperatorError(`There is no ${what}. It must hold one in PEM.`);
  }
}

/** Node separates the parts of a distinguished name by line breaks. */
function oneLine(name: string): string {
  return name.split('\n').join(', ');
}
