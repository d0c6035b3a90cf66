import { readNote } from '../../fleet/feed/shipNote.ts';
import { readShipView } from '../../fleet/feed/shipStatus.ts';
import { parseServers } from '../../fleet/nats/address.ts';
import { shipSettingsOf } from '../../fleet/ship/settings.ts';
import { type Finding, fail, ok } from '../../health/finding.ts';
import { shipProblems } from '../../health/problems.ts';
import { parseBox } from '../options/optionParsers.ts';
import { withDatabase } from '../options/withDatabase.ts';
import type { Check } from './check.ts';

const NOTHING = ok('Nothing is shipped from here: COURTD_SHIP_URL is not set.');

export const ship: Check = {
  name: 'ship',
  look: async ({ data, settings }) => {
    const { url, box } = shipSettingsOf(settings);
    const wrong = url === undefined ? undefined : wrongSettings(url, box);
    if (wrong !== undefined) return wrong;
    if (url === undefined && readNote(data) === undefined) return NOTHING;
    const view = await withDatabase({ data }, (db) => readShipView(data, db, { url, box }), {
      staysRoot: true,
    });
    const { shipped_seq } = view;
    const upTo = shipped_seq === null ? 'nothing has been shipped yet' : `shipped up to seq ${shipped_seq}`;
    return shipProblems(view)[0] ?? ok(`Events are shipped to ${view.url}: ${upTo}.`);
  },
};

function wrongSettings(url: string, box: string | undefined): Finding | undefined {
  const restart = 'then "sudo systemctl restart courtd-ship".';
  try {
    parseServers(url);
  } catch (error) {
    return fail(`COURTD_SHIP_URL is wrong. ${(error as Error).message}`, `Correct it, ${restart}`);
  }
  try {
    parseBox(box ?? '');
    return undefined;
  } catch (error) {
    const message = 'COURTD_SHIP_BOX is not the name of a box, and nothing is shipped without one.';
    return fail(message, `${(error as Error).message} Set it, ${restart}`);
  }
}
