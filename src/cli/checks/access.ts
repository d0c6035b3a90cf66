import { X509Certificate } from 'node:crypto';
import { fail, ok, warn } from '../../base/finding.ts';
import { CERTIFICATE_WARN_DAYS } from '../../base/limits.ts';
import { isOpenToAll, readKeyPair } from '../../host/tlsCertificate.ts';
import { type Token, tokenState } from '../../store/tokens/tokens.ts';
import { counted, isoTime } from '../terminal/output.ts';
import { type Check, type Fault, together } from './check.ts';

/** What a camera needs for access: the token, and the certificate that it sees. */

const DAY_MS = 86_400_000;
const REPLACE = 'Write a new pair in its place, then "sudo systemctl reload courtd".';

export const token: Check = {
  name: 'token',
  look: async (box) => {
    const look = await box.database().catch(() => undefined);
    if (look === undefined) {
      return warn('The tokens are not known: the database cannot be read.', 'See the check of the database.');
    }
    const now = Date.now();
    const active = look.tokens.find((token) => tokenState(token, now) === 'active');
    const retiring = look.tokens.filter((token) => tokenState(token, now) === 'retiring');
    if (active === undefined && retiring.length === 0) {
      return fail(
        'There is no token, so every request is answered 401.',
        '"sudo courtd token rotate" makes one; give it to every camera.',
      );
    }
    const findings = [...retiring.map((token) => aboutRetiring(token, now)), aboutUse(active)];
    const used =
      active === undefined
        ? ''
        : `, last used at ${isoTime(active.last_used_ms)} from ${active.last_used_from}`;
    return together(findings, ok(`Token ${active?.id} is active${used}.`));
  },
};

function aboutRetiring({ id, expires_ms, last_used_ms, last_used_from }: Token, now: number): Fault {
  if (last_used_ms === null || now - last_used_ms > DAY_MS) return undefined;
  return warn(
    `${last_used_from} still sends the old token ${id}, which ends at ${isoTime(expires_ms)}.`,
    'Give that camera the new token before; "courtd token list" shows who uses which.',
  );
}

function aboutUse(active: Token | undefined): Fault {
  if (active === undefined) {
    return warn(
      'The only token is about to end.',
      '"sudo courtd token rotate" makes a new one; give it to every camera.',
    );
  }
  if (active.last_used_ms !== null) return undefined;
  return warn(
    `No camera has sent token ${active.id} yet.`,
    'Give it to the cameras, and look again a minute later.',
  );
}

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

function aboutTime(fromMs: number, toMs: number, days: number): Fault {
  if (toMs <= Date.now()) {
    return fail(`The TLS certificate expired at ${isoTime(toMs)}: cameras refuse it.`, REPLACE);
  }
  if (days < CERTIFICATE_WARN_DAYS) {
    return warn(`The TLS certificate expires in ${counted(days, 'day')}, at ${isoTime(toMs)}.`, REPLACE);
  }
  if (fromMs <= Date.now()) return undefined;
  return fail(
    `The TLS certificate is not valid before ${isoTime(fromMs)}: cameras refuse it.`,
    'Look whether the clock is right: "date".',
  );
}

function aboutKey(key: string): Fault {
  if (!isOpenToAll(key)) return undefined;
  return warn('Every user of this machine can read the TLS key.', `"sudo chmod 0640 ${key}".`);
}
