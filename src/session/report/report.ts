import type { Database } from 'better-sqlite3';
import { Damage } from '../../store/read/damage.ts';
import { readSession } from '../../store/read/sessionReader.ts';
import { sessionLine } from '../../store/read/sessions.ts';
import { wrongClocks } from '../analysis/clocks.ts';
import { SessionTally, type TallyOptions } from '../analysis/sessionTally.ts';
import { pageOf } from './page.ts';

/**
 * Reads a session once, or twice where clocks are wrong.
 * @param id of a session with events.
 * @param read is told how many events have been read.
 * @param damage takes what is damaged, and left out: see readSession.
 * @returns the page.
 */
export function reportOf(
  db: Database,
  id: number,
  options: Pick<TallyOptions, 'lines' | 'yFrom'>,
  damage?: Damage,
  read?: (events: number) => void,
): string {
  const asSent = tallyOf(db, id, options, damage, read);
  const clockOffsets = wrongClocks(asSent.sources.entries());
  // What is damaged has been told by now.
  const tally =
    clockOffsets.size === 0 ? asSent : tallyOf(db, id, { ...options, clockOffsets }, new Damage(), read);
  const line = sessionLine(db, id);
  return pageOf({ line, lines: options.lines, tally, ...tally.frames.found() });
}

function tallyOf(
  db: Database,
  id: number,
  options: TallyOptions,
  damage?: Damage,
  read?: (events: number) => void,
): SessionTally {
  const tally = new SessionTally(options);
  for (const { events } of readSession(db, id, { damage, clockOffsets: options.clockOffsets })) {
    for (const event of events) tally.add(event);
    read?.(tally.events);
  }
  tally.end();
  return tally;
}
