import { counted } from '../../base/units.ts';
import { Damage } from '../../store/read/damage.ts';
import { readSession } from '../../store/read/sessionReader.ts';
import { areSessionsListed, sessionsNear } from '../../store/read/sessions.ts';
import { fileNames } from './fileNames.ts';
import { type ManyOptions, SessionFiles, unlessUnreadable } from './sessionFiles.ts';
import { type ExportTeller, withExportedDatabase } from './writeSession.ts';

/** A day in local time. */
export interface Day {
  /** YYYY-MM-DD. */
  readonly name: string;
  /** Nanoseconds since the epoch; the first inclusive, the second exclusive. */
  readonly fromNs: bigint;
  readonly toNs: bigint;
}

/** `courtd export --day D -o DIR/`: every session with an event on that day, whole, so that midnight does not cut a match. */
export async function exportDay(day: Day, options: ManyOptions, teller: ExportTeller): Promise<void> {
  const { output, format } = options;
  const files = new SessionFiles(options, teller);
  const { damage } = files;
  const names = await sessionsOf(day, options, damage);
  if (names.length === 0 && !damage.isFound) return teller.say(`No session has an event on ${day.name}.`);
  for (const [name, file] of fileNames(names)) await files.write(name, file);
  const found = counted(names.length, 'session');
  if (files.sessions === 0 && !damage.isFound)
    return teller.say(`No event matched in the ${found} of ${day.name}.`);
  const wrote = `${counted(files.sessions, 'session')} of ${day.name} with ${counted(files.events, 'event')}`;
  teller.say(`${wrote}${format === 'xlsx' ? ' read,' : ''} written to ${output}.`);
  damage.assertNone();
}

/** @returns the ids of the sessions with an event on that day, and of those where damage leaves that open. */
async function sessionsOf(day: Day, options: ManyOptions, damage: Damage): Promise<string[]> {
  const near = await withExportedDatabase(options, (db) => {
    if (!areSessionsListed(db)) damage.other('The list of sessions is damaged: some may be missing.');
    return sessionsNear(db, day);
  });
  const names: string[] = [];
  for (const { id, name, isSure } of near) {
    if (typeof name !== 'string') damage.other(`Session number ${id} has lost its name, and is not written.`);
    else if (isSure || (await mayHaveEventIn(id, day, options))) names.push(name);
  }
  return names;
}

/** Needed only for a session that starts before the day and ends after it, such as one that never ends, and for a damaged one. */
async function mayHaveEventIn(
  session: number,
  { fromNs, toNs }: Day,
  options: ManyOptions,
): Promise<boolean> {
  const damage = new Damage();
  const isFound = await unlessUnreadable('', damage, () =>
    withExportedDatabase(options, (db) => {
      for (const { events } of readSession(db, session, { fromNs, toNs, damage })) {
        if (events.length > 0) return true;
      }
      return false;
    }),
  );
  return isFound === true || damage.isFound;
}
