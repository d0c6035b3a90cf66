import { PLAIN } from '../terminal/style.ts';
import { makeReport } from './report.ts';
import { drawStatus } from './screen.ts';
import { readDaemonView, readStoreView } from './views.ts';

/**
 * @returns the status as a text without what a camera has sent: the last answer to a refused request may quote it.
 * @throws {OperatorError} where the database cannot be read.
 */
export async function plainStatus(data: string): Promise<string[]> {
  const store = await readStoreView(data);
  const { daemon, hangs } = await readDaemonView(data);
  const refusals = daemon?.refusals.map((refusal) => ({ ...refusal, error: '' })) ?? [];
  const report = makeReport({ daemon: daemon && { ...daemon, refusals }, hangs }, store, Date.now());
  return drawStatus(report, PLAIN, Date.now());
}
