import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import fs from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';
import { CERTIFICATE_CHECK_MS, CERTIFICATE_WARN_DAYS } from '../base/limits.ts';
import { OperatorError } from '../base/operatorError.ts';

/** Where the certificate and its private key are, in PEM. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** What the files hold, checked: they can be served. */
interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

const DAY_MS = 86_400_000;

/**
 * The certificate that courtd shows its clients: read at start and again when it is told to, with a word in the log
 * about what it is, and a warning while its end is near. Nothing of the key is ever in a message.
 */
export class TlsCertificate {
  readonly #files: CertificateFiles;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #pair: Pair;

  /** @throws {StoreError} where the files cannot be served; the message says why. */
  constructor(files: CertificateFiles, log: Logger) {
    this.#files = files;
    this.#log = log;
    this.#pair = readPair(files);
    this.#say();
    this.#timer = setInterval(() => this.checkExpiry(), CERTIFICATE_CHECK_MS).unref();
  }

  get pair(): Pair {
    return this.#pair;
  }

  /**
   * Reads the files again.
   * @param use takes the new pair; where the files are bad it is not called, and the one in use stays.
   */
  reload(use: (pair: Pair) => void): void {
    try {
      this.#pair = readPair(this.#files);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      this.#log.error(
        { reason: error.message },
        'the TLS certificate was not replaced: the old one stays in use',
      );
      return;
    }
    use(this.#pair);
    this.#say();
  }

  /** @param nowMs for tests. */
  checkExpiry(nowMs = Date.now()): void {
    const { validFrom, validTo } = new X509Certificate(this.#pair.cert);
    const line = { valid_from: timeOf(validFrom), expires_at: timeOf(validTo) };
    const leftMs = Date.parse(validTo) - nowMs;
    if (leftMs <= 0) {
      this.#log.warn(
        line,
        'the TLS certificate has expired: clients refuse it; replace it, and reload courtd',
      );
    } else if (leftMs < CERTIFICATE_WARN_DAYS * DAY_MS) {
      this.#log.warn(line, 'the TLS certificate expires soon: replace it, and reload courtd');
    } else if (Date.parse(validFrom) > nowMs) {
      this.#log.warn(line, 'the TLS certificate is not valid yet: clients refuse it (is the clock right?)');
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #say(): void {
    const { subject, issuer, subjectAltName, validTo } = new X509Certificate(this.#pair.cert);
    const line = {
      subject: oneLine(subject),
      names: subjectAltName ?? null,
      issuer: issuer === subject ? 'self-signed' : oneLine(issuer),
      expires_at: timeOf(validTo),
    };
    this.#log.info(line, 'TLS certificate in use');
    if (isOpenToAll(this.#files.key)) {
      this.#log.warn('every user of this machine can read the TLS key: its mode should be 0640');
    }
    this.checkExpiry();
  }
}

/** @throws {StoreError} */
function readPair({ cert, key }: CertificateFiles): Pair {
  const pair = { cert: readFile(cert, 'certificate', 'cert'), key: readFile(key, 'key', 'key') };
  const privateKey = keyOf(pair.key, key);
  if (!certificateOf(pair.cert, cert).checkPrivateKey(privateKey)) {
    throw new OperatorError(
      `The TLS key ${key} does not belong to the certificate ${cert}: give the two that were made together.`,
    );
  }
  try {
    // OpenSSL's own opinion: of the whole chain, of short keys and of old signatures.
    createSecureContext(pair);
  } catch (error) {
    throw new OperatorError(`OpenSSL cannot use the TLS certificate ${cert}: ${reasonOf(error)}.`);
  }
  return pair;
}

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file.',
  EACCES: 'this user may not. Give the file to the group that courtd runs as, with mode 0640.',
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
        `The TLS key ${file} is locked with a passphrase, and courtd has nobody to ask for it: ` +
          `unlock it with "openssl pkey -in ${file} -out FILE".`,
      );
    }
    throw new OperatorError(`There is no private key in ${file} (--tls-key): it must hold one in PEM.`);
  }
}

function isOpenToAll(file: string): boolean {
  return ((fs.statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0;
}

/** OpenSSL's words without its numbers. */
function reasonOf(error: unknown): string {
  const { message } = error as Error;
  return /^error:\w+:[^:]*:[^:]*:(.+)$/.exec(message)?.[1] ?? message;
}

/** Node writes a name over several lines. */
function oneLine(name: string): string {
  return name.split('\n').join(', ');
}

/** OpenSSL's date in the form of the rest of the log. */
function timeOf(date: string): string {
  return new Date(date).toISOString();
}
