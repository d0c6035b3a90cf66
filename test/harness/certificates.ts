import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

/** Certificates that openssl makes for a test: Node cannot. */

/** Why it cannot be tested here, or false. */
export const withoutOpenssl =
  spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed';

export interface PairFiles {
  readonly cert: string;
  readonly key: string;
}

/**
 * Makes a self-signed pair for 127.0.0.1.
 * @param name of its subject and its files, which are `NAME.crt` and `NAME.key`.
 */
export async function makePair(folder: string, name: string, days = 3650): Promise<PairFiles> {
  const files = { cert: path.join(folder, `${name}.crt`), key: path.join(folder, `${name}.key`) };
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  const where = ['-days', `${days}`, '-keyout', files.key, '-out', files.cert];
  await openssl('req', '-x509', ...kind, ...subject, ...where);
  return files;
}

/** Runs one of its commands, with nothing to read. */
export function openssl(...args: readonly string[]): Promise<{ stdout: string }> {
  const run = promisify(execFile)('openssl', args);
  run.child.stdin?.end();
  return run;
}
