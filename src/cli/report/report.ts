import type { Database } from 'better-sqlite3';
import type { CourtName } from '../../protocol/courtLines.ts';
import { wrongClocks } from '../../session/analysis/clocks.ts';
import type { YFrom } from '../../session/analysis/court.ts';
import { SessionTally, type TallyOptions } from '../../session/analysis/sessionTally.ts';
import { pageOf } from '../../session/report/page.ts';
import { Damage } from '../../store/read/damage.ts';
import { readSession } from '../../store/read/sessionReader.ts';
import { sessionId, sessionLine } from '../../store/read/sessions.ts';
import { type DataOption, withDatabase } from '../options/withDatabase.ts';
import { Progress, say } from '../terminal/output.ts';
import { fileSink, stdoutSink } from '../terminal/sinks.ts';

export interface ReportOptions extends DataOption {
  readonly output?: string;
  readonly courtLines: CourtName;
  readonly yFrom?: YFrom;
}

/** `courtd report S`. */
export async function report(name: string, options: ReportOptions): Promise<void> {
  const { output, courtLines, yFrom } = options;
  await withDatabase(
    options,
    async (db) => {
      // Before the session is read, which may take a minute: an unwritable file is reported at once.
      const id = sessionId(db, name);
      const sink = output === undefined ? stdoutSink() : fileSink(output);
      const damage = new Damage();
      await sink.write(reportOf(db, id, { lines: courtLines, yFrom }, damage));
      sink.commit();
      if (output !== undefined) {
        say(`Report written to ${output}${sink.replaces ? '; the existing file was replaced' : ''}.`);
      }
      damage.assertNone();
    },
    { staysRoot: output !== undefined },
  );
}

/**
 * Reads a session once, or twice where clocks are wrong.
 * @param id of a session with events.
 * @param damage takes what is damaged, and left out: see readSession.
 * @returns the page.
 */
export function reportOf(
  db: Database,
  id: number,
  options: Pick<TallyOptions, 'lines' | 'yFrom'>,
  damage?: Damage,
): string {
  const asSent = tallyOf(db, id, options, damage);
  const clockOffsets = wrongClocks(asSent.sources.entries());
  // What is damaged has been told by now.
  const tally =
    clockOffsets.size === 0 ? asSent : tallyOf(db, id, { ...options, clockOffsets }, new Damage());
  const line = sessionLine(db, id);
  return pageOf({ line, lines: options.lines, tally, ...tally.frames.found() });
}

function tallyOf(db: Database, id: number, options: TallyOptions, damage?: Damage): SessionTally {
  const tally = new SessionTally(options);
  const progress = new Progress();
  for (const { events } of readSession(db, id, { damage, clockOffsets: options.clockOffsets })) {
    for (const event of events) tally.add(event);
    progress.show(() => `${tally.events} events read`);
  }
  tally.end();
  progress.clear();
  return tally;
}
