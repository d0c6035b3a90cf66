import fs from 'node:fs';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { askWholeStatus, DaemonHangs } from '../../control/controlClient.ts';
import { readOwnShipView } from '../../fleet/feed/readShipStatus.ts';
import { withoutQuotes } from '../../health/sourceProblems.ts';
import { type DaemonView, makeReport, type StoreView } from '../../health/status.ts';
import { readStoreView } from '../../health/storeView.ts';
import { PLAIN } from '../terminal/style.ts';
import { drawStatus } from './screen.ts';

/** @returns whether there is a database at all; true where that is unknown. */
export function hasDatabase(directory: DataDirectory): boolean {
  try {
    fs.accessSync(directory.file('database'));
    return true;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** @param before what it said before. @throws {OperatorError} where it cannot be read. */
export function lookAtStore(data: DataDirectory, before?: StoreView): Promise<StoreView> {
  return readStoreView(data, (db) => readOwnShipView(data, db), before);
}

/** Read the store first: that is where root becomes the owner of the directory. @throws {OperatorError} where the socket is closed to this user. */
export async function askForView(data: DataDirectory): Promise<DaemonView> {
  try {
    return { daemon: await askWholeStatus(data), hangs: undefined };
  } catch (error) {
    if (!(error instanceof DaemonHangs)) throw error;
    return { daemon: undefined, hangs: error };
  }
}

/**
 * @returns the status as a text without what a camera has sent: the last answer to a refused request may quote it.
 * @throws {OperatorError} where the database cannot be read.
 */
export async function plainStatus(data: DataDirectory): Promise<string[]> {
  const store = await lookAtStore(data);
  const { daemon, hangs } = await askForView(data);
  const report = makeReport({ daemon: daemon && withoutQuotes(daemon), hangs }, store, Date.now());
  return drawStatus(report, PLAIN, Date.now());
}
