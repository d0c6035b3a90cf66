import { type Token, tokenState } from '../../store/tokens/tokens.ts';
import { isoTime } from '../terminal/output.ts';
import { type Check, type Finding, fail, ok, together, warn } from './check.ts';

const DAY_MS = 86_400_000;

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

function aboutRetiring({ id, expires_ms, last_used_ms, last_used_from }: Token, now: number): Finding {
  if (last_used_ms === null || now - last_used_ms > DAY_MS) return ok('');
  return warn(
    `${last_used_from} still sends the old token ${id}, which ends at ${isoTime(expires_ms)}.`,
    'Give that camera the new token before; "courtd token list" shows who uses which.',
  );
}

function aboutUse(active: Token | undefined): Finding {
  if (active === undefined) {
    return warn(
      'The only token is about to end.',
      '"sudo courtd token rotate" makes a new one; give it to every camera.',
    );
  }
  if (active.last_used_ms !== null) return ok('');
  return warn(
    `No camera has sent token ${active.id} yet.`,
    'Give it to the cameras, and look again a minute later.',
  );
}
