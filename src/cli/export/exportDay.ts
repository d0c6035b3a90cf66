import { hash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { explainWriteErrors } from '../../base/atomicFile.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { eotToNs } from '../../protocol/eot.ts';
import { readSession } from '../../store/read/sessionReader.ts';
import { findSession, listSessions, type SessionLine } from '../../store/read/sessions.ts';
import type { Day } from '../options/times.ts';
import { counted, say } from '../terminal/output.ts';
import { makeDirectory } from '../terminal/sinks.ts';
import {
  type ExportOptions,
  failIfDamaged,
  openFile,
  withExportedDatabase,
  writeSession,
} from './exportSession.ts';

/** The longest file name without its extension, in bytes: file systems allow 255, some that encrypt allow 143. */
const NAME_BYTES = 100;
/** Hex digits of SHA-256 that make a shortened name unique. */
const HASH_DIGITS = 16;

/** `courtd export --day D -o DIR/`: every session with an event on that day, whole, so that midnight does not cut a match. */
export async function exportDay(options: ExportOptions): Promise<void> {
  const { day, output, format } = options as ExportOptions & Required<Pick<ExportOptions, 'day' | 'output'>>;
  let exists = isDirectory(output);
  const names = await sessionsOf(day, options);
  if (names.length === 0) return say(`No session has an event on ${day.name}.`);
  const files = fileNames(names);
  let [sessions, events] = [0, 0];
  const damaged: string[] = [];
  for (const [name, file] of files) {
    const open = () => {
      if (!exists) makeDirectory(output);
      exists = true;
      return openFile(path.join(output, `${file}.${format}`));
    };
    const written = await writeSession(name, options, open, { unlessEmpty: true });
    events += written.events;
    if (written.events > 0) sessions++;
    damaged.push(...written.damaged);
  }
  const found = counted(names.length, 'session');
  if (sessions === 0 && damaged.length === 0) return say(`No event matched in the ${found} of ${day.name}.`);
  say(
    `${counted(sessions, 'session')} of ${day.name} with ${counted(events, 'event')}${format === 'xlsx' ? ' read,' : ''} written to ${output}.`,
  );
  failIfDamaged(damaged);
}

/** @returns whether the directory exists; one that ends in / may be created. @throws {OperatorError} where it cannot be one. */
function isDirectory(place: string): boolean {
  const stat = explainWriteErrors(place, () => fs.statSync(place, { throwIfNoEntry: false }));
  if (stat?.isDirectory()) return true;
  if (stat !== undefined) {
    throw new OperatorError(`${place} is not a directory: with --day, name one with -o DIR/.`);
  }
  if (place.endsWith('/')) return false;
  throw new OperatorError(`There is no directory ${place}: end its name in / and -o creates it.`);
}

/** @returns the ids of the sessions with an event on that day. */
async function sessionsOf(day: Day, options: ExportOptions): Promise<string[]> {
  const near = await withExportedDatabase(options, (db) => {
    const found: SessionLine[] = [];
    for (const lines of listSessions(db)) found.push(...lines.filter((line) => overlaps(line, day)));
    return found;
  });
  const names: string[] = [];
  for (const line of near) {
    if (hasEdgeIn(line, day) || (await hasEventIn(line, day, options))) names.push(line.session_id);
  }
  return names;
}

function edges({ first_eot, last_eot }: SessionLine): bigint[] {
  return [first_eot, last_eot].flatMap((eot) => (eot === null ? [] : (eotToNs(eot) ?? [])));
}

/** Whether the day overlaps the time from the session's first eot to its last. */
function overlaps(line: SessionLine, { fromNs, toNs }: Day): boolean {
  const [first, last] = edges(line);
  return first !== undefined && last !== undefined && first < toNs && last >= fromNs;
}

/** Whether the first or the last eot is on that day. */
function hasEdgeIn(line: SessionLine, { fromNs, toNs }: Day): boolean {
  return edges(line).some((eot) => eot >= fromNs && eot < toNs);
}

/** Needed only for a session that starts before the day and ends after it, such as one that never ends. */
async function hasEventIn(line: SessionLine, day: Day, options: ExportOptions): Promise<boolean> {
  return withExportedDatabase(options, (db) => {
    const { fromNs, toNs } = day;
    const session = findSession(db, line.session_id);
    // A prune has deleted it since it was listed.
    if (session === undefined) return false;
    for (const { events } of readSession(db, session, { fromNs, toNs })) {
      if (events.length > 0) return true;
    }
    return false;
  });
}

/**
 * File names for sessions: letters, digits, `_`, `.` and `-` stay and everything else is percent-encoded, so that no name leaves
 * the directory, is hidden or looks like an option. Long names, and names that differ only in case (the file system of a USB
 * stick would treat them as one), end in a hash.
 * @returns each session_id with the name of its file, without the extension.
 */
export function fileNames(sessions: readonly string[]): Map<string, string> {
  // Both ways: file systems compare upper case, and three letters (σ, ς, Σ) may share one of them.
  const folded = (name: string) => encoded(name).normalize('NFC').toLowerCase().toUpperCase();
  const counts = new Map<string, number>();
  for (const name of sessions) counts.set(folded(name), (counts.get(folded(name)) ?? 0) + 1);
  return new Map(
    sessions.map((name) => [name, counts.get(folded(name)) === 1 ? shortened(name) : hashed(name)]),
  );
}

function encoded(name: string): string {
  return name.replace(/^[.-]|[^\p{L}\p{N}_.-]/gu, (character) =>
    Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '%$&'),
  );
}

function shortened(name: string): string {
  return Buffer.byteLength(encoded(name)) <= NAME_BYTES ? encoded(name) : hashed(name);
}

/** `~` cannot occur in a name without a hash. */
function hashed(name: string): string {
  let start = '';
  for (const character of name) {
    const next = `${start}${start === '' ? encoded(character) : encoded(`x${character}`).slice(1)}`;
    if (Buffer.byteLength(next) > NAME_BYTES - HASH_DIGITS - 1) break;
    start = next;
  }
  return `${start}~${hash('sha256', name).slice(0, HASH_DIGITS)}`;
}
