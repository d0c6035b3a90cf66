import fs from 'node:fs';
import path from 'node:path';
import { explainWriteErrors } from '../../base/atomicFile.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { asCaller } from '../../base/processIdentity.ts';
import { counted } from '../../base/units.ts';
import { fileNames } from '../../session/export/fileNames.ts';
import { Damage } from '../../store/read/damage.ts';
import { readSession } from '../../store/read/sessionReader.ts';
import { areSessionsListed, sessionsNear } from '../../store/read/sessions.ts';
import { failureKind } from '../../store/sqlite/errors.ts';
import type { Day } from '../options/times.ts';
import { say } from '../terminal/output.ts';
import { makeDirectory } from '../terminal/sinks.ts';
import { type ExportOptions, openFile, withExportedDatabase, writeSession } from './exportSession.ts';

/** `courtd export --day D -o DIR/`: every session with an event on that day, whole, so that midnight does not cut a match. */
export async function exportDay(options: ExportOptions): Promise<void> {
  const { day, output, format } = options as ExportOptions & Required<Pick<ExportOptions, 'day' | 'output'>>;
  let exists = isDirectory(output);
  const damage = new Damage();
  const names = await sessionsOf(day, options, damage);
  if (names.length === 0 && !damage.isFound) return say(`No session has an event on ${day.name}.`);
  const files = fileNames(names);
  let [sessions, events] = [0, 0];
  for (const [name, file] of files) {
    const open = () => {
      if (!exists) makeDirectory(output);
      exists = true;
      return openFile(path.join(output, `${file}.${format}`));
    };
    const written = await unlessUnreadable(name, damage, () =>
      writeSession(name, options, damage, open, { unlessEmpty: true }),
    );
    events += written?.events ?? 0;
    if (written !== undefined && written.events > 0) sessions++;
  }
  const found = counted(names.length, 'session');
  if (sessions === 0 && !damage.isFound) return say(`No event matched in the ${found} of ${day.name}.`);
  say(
    `${counted(sessions, 'session')} of ${day.name} with ${counted(events, 'event')}${format === 'xlsx' ? ' read,' : ''} written to ${output}.`,
  );
  damage.assertNone();
}

/** The next session may be intact. @returns undefined where the database could not be read, which `damage` then says. */
export async function unlessUnreadable<Result>(
  session: string,
  damage: Damage,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    const isRead = error instanceof OperatorError && ['damaged', 'fatal'].includes(failureKind(error.cause));
    if (!isRead) throw error;
    damage.other(`Session ${JSON.stringify(session)} cannot be read, and is not written.`);
    return undefined;
  }
}

/** @returns whether the directory exists; one that ends in / may be created. @throws {OperatorError} where it cannot be one. */
export function isDirectory(place: string): boolean {
  const stat = explainWriteErrors(place, () => asCaller(() => fs.statSync(place, { throwIfNoEntry: false })));
  if (stat?.isDirectory()) return true;
  if (stat !== undefined) {
    throw new OperatorError(`${place} is not a directory: with --day and --all, name one with -o DIR/.`);
  }
  if (place.endsWith('/')) return false;
  throw new OperatorError(`There is no directory ${place}: end its name in / and -o creates it.`);
}

/** @returns the ids of the sessions with an event on that day, and of those where damage leaves that open. */
async function sessionsOf(day: Day, options: ExportOptions, damage: Damage): Promise<string[]> {
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
  options: ExportOptions,
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
