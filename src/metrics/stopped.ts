import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../base/dataDirectory.ts';
import { recentSources, summarizeStore } from '../store/read/storeSummary.ts';
import { isValid, listTokens } from '../store/tokens/tokens.ts';
import { directoryFamilies } from './directory.ts';
import { gauge, type MetricFamily } from './family.ts';
import { type ShipGauges, shippingFamilies } from './shipping.ts';
import { lastEventFamily } from './sources.ts';

/** @returns what the database holds while no daemon runs. @throws SQLite's and Node's errors. */
export async function stoppedFamilies(
  db: Database,
  data: DataDirectory,
  ship: ShipGauges,
): Promise<MetricFamily[]> {
  const nowMs = Date.now();
  const { events, sessions } = summarizeStore(db, nowMs);
  const isOpen = listTokens(db).some((token) => isValid(token, nowMs));
  const sources = recentSources(db, nowMs).map(({ source, court, lastMs }) => ({
    labels: { court_id: court, source },
    value: lastMs / 1_000,
  }));
  return [
    ...(await directoryFamilies(data, false)),
    gauge('courtd_stored_events', 'Events in the database.', events),
    gauge('courtd_stored_sessions', 'Sessions with events in the database.', sessions),
    gauge('courtd_token_valid', 'Whether there is a token that is accepted.', Number(isOpen)),
    lastEventFamily(sources),
    ...shippingFamilies(ship),
  ];
}
