import { hash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Database } from 'better-sqlite3';
import { explainWriteErrors, fileSink } from '../../base/atomicFile.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { counted, isoTime, NS_PER_MS } from '../../base/units.ts';
import { withDatabase } from '../../store/db/openDatabase.ts';
import { failureKind } from '../../store/db/sqliteErrors.ts';
import { Damage } from '../../store/read/damage.ts';
import { readSession } from '../../store/read/sessionReader.ts';
import { findSession, listSessions } from '../../store/read/sessions.ts';
import { type ExportOptions, type ExportTeller, writeSession } from './writeSession.ts';

/** An event that is being received may be stored a little later: the next export begins so much before this one. */
const OVERLAP_MS = 60_000;

interface ManyOptions extends ExportOptions {
  /** When events were received: nanoseconds since 1970-01-01T00:00:00Z, inclusive. */
  readonly since: bigint;
  /** The same, exclusive. */
  readonly until: bigint | undefined;
  /** A directory, which is created if there is none. */
  readonly output: string;
}

/**
 * Writes each session that received an event in that time, whole, to `day=YYYY-MM-DD/SESSION.FORMAT`, where the day is the UTC day on
 * which its first event was received. After a session that cannot be read it continues with the next one.
 * @throws {OperatorError} if a file cannot be written, and at the end if something could not be read.
 */
export async function exportMany(options: ManyOptions, teller: ExportTeller): Promise<void> {
  const { output, format } = options;
  const damage = new Damage();
  const begunMs = Date.now();
  let [sessions, events] = [0, 0];
  const exportOne = async (db: Database, name: string) => {
    // A prune may have deleted it since it was found.
    const session = findSession(db, name);
    const day = session === undefined ? undefined : dayOf(db, session, options);
    if (session === undefined || day === undefined) return;
    const folder = path.join(output, `day=${day}`);
    explainWriteErrors(folder, () => fs.mkdirSync(folder, { recursive: true }));
    const sink = fileSink(path.join(folder, `${fileNameOf(name)}.${format}`));
    events += await writeSession(db, { session, name }, options, damage, sink, teller);
    sessions++;
  };
  const names = await withDatabase(options, (db) => listSessions(db).map(({ session_id }) => session_id));
  for (const name of names) {
    if (typeof name !== 'string') {
      damage.other('A session has lost its name, and is not written.');
      continue;
    }
    try {
      // Each is read on a connection of its own.
      await withDatabase(options, (db) => exportOne(db, name));
    } catch (error) {
      const isRead =
        error instanceof OperatorError && ['damaged', 'fatal'].includes(failureKind(error.cause));
      if (!isRead) throw error;
      damage.other(`Session ${JSON.stringify(name)} cannot be read, and is not written.`);
    }
  }
  const next = isoTime(begunMs - OVERLAP_MS).replace(/\.\d+/, '');
  const wrote = `${counted(sessions, 'session')} with ${counted(events, 'event')} written to ${output}.`;
  teller.say(
    sessions === 0
      ? 'No session received an event in that time. Nothing was written.'
      : `${wrote} The next export continues with --since ${next}.`,
  );
  damage.assertNone();
}

/**
 * Reads the whole session: there is no index of times of receipt, and after a jump of the clock they are in any order.
 * @returns the UTC day on which its first event was received; undefined if none was received in the time that is exported.
 */
function dayOf(db: Database, session: number, { since, until }: ManyOptions): string | undefined {
  let isChosen = false;
  let first = { seq: Number.POSITIVE_INFINITY, receivedMs: 0 };
  for (const events of readSession(db, session).chunks) {
    for (const event of events) {
      if (event.seq < first.seq) first = event;
      const ns = BigInt(event.receivedMs) * NS_PER_MS;
      isChosen ||= ns >= since && (until === undefined || ns < until);
    }
  }
  return isChosen ? isoTime(first.receivedMs).slice(0, 10) : undefined;
}

/** The longest file name without its extension, in bytes (file systems allow 255, some that encrypt 143), and how many are a hash. */
const [NAME_BYTES, HASH_DIGITS] = [100, 16];

/**
 * @returns a file name that depends on the session_id alone and is another one for each, on every file system: lower-case letters of
 * ASCII, digits, `_`, `.` and `-` stay, everything else is percent-encoded, so that decodeURIComponent gives the session_id. A name
 * that would be too long ends in `~` and a hash.
 */
export function fileNameOf(session: string): string {
  const percent = (character: string) =>
    Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '%$&');
  const name = session.replace(/^[.-]|[^a-z0-9_.-]/gu, percent);
  if (name.length <= NAME_BYTES) return name;
  const start = name.slice(0, NAME_BYTES - HASH_DIGITS - 1).replace(/%[0-9A-F]?$/, '');
  return `${start}~${hash('sha256', session).slice(0, HASH_DIGITS)}`;
}
