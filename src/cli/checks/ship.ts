import { type Finding, fail, ok, warn } from '../../base/finding.ts';
import { parseServers } from '../../nats/address.ts';
import { readNote } from '../../ship/feed/shipNote.ts';
import { readShipView } from '../../ship/feed/shipStatus.ts';
import { shipSettingsOf } from '../../ship/settings.ts';
import { parseBox } from '../options/optionParsers.ts';
import { withDatabase } from '../options/withDatabase.ts';
import { counted } from '../terminal/output.ts';
import { span } from '../terminal/units.ts';
import type { Check } from './check.ts';

/** The age in seconds from which unshipped events count as behind. */
const LATE_S = 3_600;
const NOTHING = ok('Nothing is shipped from here: COURTD_SHIP_URL is not set.');
const START = 'Start it: "sudo systemctl start courtd-ship", and look at "journalctl -u courtd-ship".';

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
    const { state, error, running, behind_s, behind_events, shipped_seq } = view;
    if (state === 'fenced' || state === 'refused') {
      return fail(error ?? `Shipping is ${state}.`, '"courtd ship status" shows how far it is.');
    }
    const waiting = counted(behind_events ?? 0, 'event');
    const late = `${waiting} not shipped yet, the oldest received ${span(behind_s ?? 0)} ago.`;
    if (!running && (behind_events ?? 0) > 0) return warn(`No shipper runs: ${late}`, START);
    if ((behind_s ?? 0) > LATE_S)
      return warn(`${late} ${error ?? ''}`.trimEnd(), 'Check the link to headquarters.');
    const upTo = shipped_seq === null ? 'nothing has been shipped yet' : `shipped up to seq ${shipped_seq}`;
    return ok(`Events are shipped to ${view.url}: ${upTo}.`);
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
