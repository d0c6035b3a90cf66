import { askDaemon } from '../../control/controlClient.ts';
import { readShipView } from '../../fleet/feed/shipStatus.ts';
import { shipSettingsOf } from '../../fleet/ship/settings.ts';
import { METRICS_PATH, type MetricFamily } from '../../metrics/family.ts';
import { render } from '../../metrics/render.ts';
import { stoppedFamilies } from '../../metrics/stopped.ts';
import { type DataOption, withDatabase } from '../options/withDatabase.ts';
import { say } from '../terminal/output.ts';
import { stdoutSink } from '../terminal/sinks.ts';

/**
 * `courtd metrics`.
 * @throws {OperatorError} where there is no database, where it cannot be read, or where the daemon does not answer.
 */
export async function metrics({ data }: DataOption): Promise<void> {
  const families = await withDatabase({ data }, async (db) => {
    const running = await askDaemon<MetricFamily[]>(data, METRICS_PATH);
    if (running !== undefined) return running;
    say('courtd: the daemon is not running: these metrics come from the database.');
    return stoppedFamilies(db, data, await readShipView(data, db, shipSettingsOf(process.env)));
  });
  await stdoutSink().write(render(families));
}
