import fs from 'node:fs/promises';
import { boxNameFault } from '../../base/boxName.ts';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { type Finding, fail, ok, warn } from '../../health/finding.ts';
import { shipProblems } from '../../health/problems.ts';
import { withDatabase } from '../../store/open/withDatabase.ts';
import { directoryOf } from '../copy/copyFiles.ts';
import { parseServers } from '../nats/address.ts';
import { COPY_HAS_PLAYERS } from './eventFeed.ts';
import { readShipView, shipSettingsOf } from './readShipStatus.ts';
import { readNote } from './shipNote.ts';

/** @param settings the COURTD_ variables that a shipper has. @returns what `courtd check` finds of shipping. */
export async function shipFinding(
  data: DataDirectory,
  settings: Readonly<Record<string, string>>,
): Promise<Finding> {
  const { url, box } = shipSettingsOf(settings);
  const players = settings.COURTD_SHIP_PLAYERS;
  const wrong = url === undefined ? undefined : wrongSettings(url, box, players);
  if (wrong !== undefined) return wrong;
  if (url === undefined && readNote(data) === undefined)
    return ok('Nothing is shipped from here: COURTD_SHIP_URL is not set.');
  const read = (db: Parameters<typeof readShipView>[1]) => readShipView(data, db, { url, box });
  const view = await withDatabase({ data }, read);
  const { shipped_seq } = view;
  const upTo = shipped_seq === null ? 'nothing has been shipped yet' : `shipped up to seq ${shipped_seq}`;
  const root = directoryOf(url ?? view.url ?? '');
  const as = players === 'pseudonym' ? ', players under pseudonyms' : '';
  const place = root === undefined ? undefined : await copyFault(root, data);
  return shipProblems(view)[0] ?? place ?? ok(`Events are shipped to ${view.url}${as}: ${upTo}.`);
}

/** Whether there may be a copy that outlives the disk of the box; whether it can be written, its shipper says. */
async function copyFault(root: string, data: DataDirectory): Promise<Finding | undefined> {
  const advice = 'Plug its stick in, or mount it, and look again: no command is needed.';
  const [place, own] = await Promise.all(
    [root, data.path].map((each) => fs.stat(each).catch(() => undefined)),
  );
  if (place?.isDirectory() !== true)
    return fail(`There is no directory ${root}, where the copy goes.`, advice);
  if (place.dev !== own?.dev) return undefined;
  return warn(`The copy in ${root} is on the disk of the database: when that fails, both are lost.`, advice);
}

function wrongSettings(url: string, box = '', players: string | undefined): Finding | undefined {
  const restart = 'then "sudo systemctl restart courtd-ship".';
  try {
    if (directoryOf(url) === undefined) parseServers(url);
  } catch (error) {
    return fail(`COURTD_SHIP_URL is wrong. ${(error as Error).message}`, `Correct it, ${restart}`);
  }
  if (directoryOf(url) !== undefined && players === 'pseudonym')
    return fail(COPY_HAS_PLAYERS, `Correct it, ${restart}`);
  const fault = boxNameFault(box);
  if (fault === undefined) return undefined;
  const message = 'COURTD_SHIP_BOX is not the name of a box, and nothing is shipped without one.';
  return fail(message, `${fault} Set it, ${restart}`);
}
