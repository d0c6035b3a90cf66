import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { operatorErrors } from '../../base/sink.ts';
import { counted, isoTime, NS_PER_MS } from '../../base/units.ts';
import { eotToNs } from '../../protocol/eot.ts';
import { readArrivals } from '../../store/read/arrivalReader.ts';
import { Damage } from '../../store/read/damage.ts';
import { findSession, listSessions, sessionLine } from '../../store/read/sessions.ts';
import { steadyName } from './fileNames.ts';
import { type ManyOptions, SessionFiles, unlessUnreadable } from './sessionFiles.ts';
import { type ExportTeller, wholeMs, withExportedDatabase } from './writeSession.ts';

/** What is received at this moment may be stored a little later: the next export begins so much before this one. */
const OVERLAP_MS = 60_000;

/**
 * `courtd export --all -o DIR/`: every session with an event that was received in that time, whole, each in a file of its own,
 * `day=YYYY-MM-DD/SESSION.FORMAT`. A session that was there is replaced, also where its day has changed, so that whoever reads all
 * files has each session once, however often this is called.
 */
export async function exportAll(given: ManyOptions, teller: ExportTeller): Promise<void> {
  const { receivedFrom, receivedTo, ...options } = given;
  const { output, format } = options;
  const files = new SessionFiles(options, teller);
  const { damage } = files;
  const begunMs = Date.now();
  const names = await sessionsOf(given, damage, teller);
  for (const name of names) {
    const day = await unlessUnreadable(name, damage, () => dayOf(name, options));
    if (day === undefined) continue;
    const [folder, file] = [`day=${day}`, steadyName(name)];
    if (await files.write(name, path.join(folder, file)))
      removeFromOtherDays(output, folder, `${file}.${format}`);
  }
  if (files.sessions === 0 && !damage.isFound)
    return teller.say('No event was received in that time: nothing is written.');
  const next = isoTime(begunMs - OVERLAP_MS).replace(/\.\d+/, '');
  const wrote = `${counted(files.sessions, 'session')} with ${counted(files.events, 'event')}`;
  teller.say(`${wrote} written to ${output}; what comes from now on: --received-from ${next}.`);
  damage.assertNone();
}

/** @returns the session_ids, in memory at once: a name a session. */
function sessionsOf(options: ManyOptions, damage: Damage, teller: ExportTeller): Promise<Iterable<string>> {
  return withExportedDatabase(options, async (db) => {
    const names = new Set<string>();
    const fromMs = wholeMs(options.receivedFrom) ?? -Infinity;
    const toMs = wholeMs(options.receivedTo) ?? Infinity;
    if (fromMs === -Infinity && toMs === Infinity) {
      for (const lines of listSessions(db)) for (const { session_id } of lines) names.add(session_id);
      return names;
    }
    // There is no index of times of receipt, and a clock that jumped has left them in any order: every event is read.
    const unread = new Damage();
    for (const { events, upTo, lastSeq } of readArrivals(db, unread)) {
      for (const { sessionId, receivedMs } of events) {
        if (receivedMs >= fromMs && receivedMs < toMs) names.add(sessionId);
      }
      // Signals are handled between turns of the event loop.
      await setImmediate();
      teller.show(() => `looking for sessions: ${Math.floor((100 * upTo) / lastSeq)} % of the events read`);
    }
    if (unread.isFound) damage.other('Events are damaged, and their sessions may be missing.');
    return names;
  });
}

/** @returns the day of a session's first event by eot, in UTC; undefined where a prune has deleted it meanwhile. */
function dayOf(name: string, options: ManyOptions): Promise<string | undefined> {
  return withExportedDatabase(options, (db) => {
    const id = findSession(db, name);
    const ns = id === undefined ? undefined : eotToNs(sessionLine(db, id).first_eot ?? '');
    return ns === undefined ? undefined : new Date(Number(ns / NS_PER_MS)).toISOString().slice(0, 10);
  });
}

/** A late event may be of an earlier day than all before it: then the session has moved. */
function removeFromOtherDays(output: string, day: string, file: string): void {
  operatorErrors(output, () => {
    for (const other of fs.readdirSync(output)) {
      if (other !== day && /^day=\d{4}-\d\d-\d\d$/.test(other)) {
        fs.rmSync(path.join(output, other, file), { force: true });
      }
    }
  });
}
