import { X509Certificate } from 'node:crypto';
import { CERTIFICATE_WARN_DAYS } from '../../base/limits.ts';
import { isOpenToAll, readKeyPair } from '../../host/tlsCertificate.ts';
import { isoTime } from '../terminal/output.ts';
import { type Check, type Finding, fail, ok, together, warn } from './check.ts';

const DAY_MS = 86_400_000;
const REPLACE = 'Write a new pair in its place, then "sudo systemctl reload courtd".';

export const certificate: Check = {
  name: 'certificate',
  look: ({ settings: { COURTD_TLS_CERT: cert, COURTD_TLS_KEY: key } }) => {
    if (cert === undefined || key === undefined) {
      return ok("No TLS is set: whoever is on the venue's network can read the token.");
    }
    // As the owner of the data directory, whom the daemon runs as.
    const { validFrom, validTo } = new X509Certificate(readKeyPair({ cert, key }).cert);
    const [fromMs, toMs] = [Date.parse(validFrom), Date.parse(validTo)];
    const days = Math.floor((toMs - Date.now()) / DAY_MS);
    return together(
      [aboutTime(fromMs, toMs, days), aboutKey(key)],
      ok(`The certificate is good for ${days} days, until ${isoTime(toMs)}, and its key belongs to it.`),
    );
  },
};

function aboutTime(fromMs: number, toMs: number, days: number): Finding {
  if (toMs <= Date.now()) {
    return fail(`The TLS certificate has expired at ${isoTime(toMs)}: cameras refuse it.`, REPLACE);
  }
  if (days < CERTIFICATE_WARN_DAYS) {
    return warn(`The TLS certificate expires in ${days} days, at ${isoTime(toMs)}.`, REPLACE);
  }
  if (fromMs <= Date.now()) return ok('');
  return fail(
    `The TLS certificate is not valid before ${isoTime(fromMs)}: cameras refuse it.`,
    'Look whether the clock is right: "date".',
  );
}

function aboutKey(key: string): Finding {
  if (!isOpenToAll(key)) return ok('');
  return warn('Every user of this machine can read the TLS key.', `"sudo chmod 0640 ${key}".`);
}
