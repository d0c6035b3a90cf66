import type { DataDirectory } from '../base/dataDirectory.ts';
import { given, serviceOf } from '../host/serviceSettings.ts';
import type { EventRules } from '../protocol/validate.ts';
import { askStatus } from './controlClient.ts';

/** What the daemon of this box demands of every event: it says so itself, or its settings do while it is down. */
export async function rulesOf(data: DataDirectory): Promise<EventRules> {
  // Whatever keeps it from answering, its settings are known.
  const daemon = await askStatus(data).catch(() => undefined);
  const { venue } = daemon ?? {
    venue: given().COURTD_VENUE ?? serviceOf(data).settings.COURTD_VENUE,
  };
  return typeof venue === 'string' ? { venue } : {};
}
