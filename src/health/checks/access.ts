import { DAY_MS, isoTime } from '../../base/units.ts';
import { isOpenToAll, readKeyPair, validityOf } from '../../host/tlsCertificate.ts';
import { type Token, tokenState } from '../../store/tokens/tokens.ts';
import { ok, warn } from '../finding.ts';
import { certificateProblems, tokenProblems } from '../problems.ts';
import { type Check, type Fault, together } from './check.ts';

/** What a camera needs for access: the token, and the certificate that it sees. */

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
    const [none] = tokenProblems({ active: active ? 1 : 0, retiring: retiring.length });
    if (none !== undefined) return none;
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
    const certificate = validityOf(readKeyPair({ cert, key }).cert);
    const days = Math.floor((Date.parse(certificate.expires_at) - Date.now()) / DAY_MS);
    return together(
      [...certificateProblems({ certificate }, Date.now()), aboutKey(key)],
      ok(
        `The certificate is good for ${days} days, until ${certificate.expires_at}, and its key belongs to it.`,
      ),
    );
  },
};

function aboutKey(key: string): Fault {
  if (!isOpenToAll(key)) return undefined;
  return warn('Every user of this machine can read the TLS key.', `"sudo chmod 0640 ${key}".`);
}
