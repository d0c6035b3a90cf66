import { fileSink } from '../../base/fileSink.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { isoTime } from '../../base/units.ts';
import { BINARY_FORMATS } from '../../session/export/eventWriter.ts';
import { type ExportOptions, withExportedDatabase, writeSession } from '../../session/export/writeSession.ts';
import { Damage } from '../../store/read/damage.ts';
import { readSession } from '../../store/read/sessionReader.ts';
import { sessionId, summarizeSession } from '../../store/read/sessions.ts';
import { Progress, say, stdoutSink } from '../terminal/output.ts';

/** The most courts, types or events that a message lists. */
const NAMES_LISTED = 10;

/** `courtd export SESSION` */
export async function exportSession(
  name: string,
  { output, ...options }: ExportOptions & { readonly output?: string },
): Promise<void> {
  const { format } = options;
  if (output === undefined && process.stdout.isTTY && BINARY_FORMATS.includes(format)) {
    throw new OperatorError(
      `A terminal cannot show ${format}: name a file with -o, such as -o match.${format}.`,
    );
  }
  const damage = new Damage();
  const destination =
    output === undefined ? { open: stdoutSink } : { file: output, open: () => fileSink(output) };
  const events = await writeSession(name, options, damage, destination, new Progress());
  damage.assertNone();
  if (events === 0) await sayNoMatch(name, options);
}

/** Lists what the session does have, since a court is easily misspelt and a time given in the wrong time zone. */
async function sayNoMatch(name: string, options: ExportOptions): Promise<void> {
  const { type, court, from, to, receivedFrom, receivedTo } = options;
  const summary = await withExportedDatabase(options, (db) => summarizeSession(db, name));
  const has: string[] = [];
  if (court !== undefined) has.push(`the courts ${listed(Object.keys(summary.by_court))}`);
  if (type !== undefined) has.push(`the types ${listed(Object.keys(summary.by_type))}`);
  if ((from ?? to) !== undefined) has.push(`events from ${summary.first_eot} to ${summary.last_eot}`);
  if ((receivedFrom ?? receivedTo) !== undefined) has.push(await receivedIn(name, options));
  const instead = has.length === 0 ? '' : `: session ${JSON.stringify(name)} has ${has.join(', ')}`;
  say(`No event matched${instead}.`);
}

/** @returns when the first and the last event of a session were received. */
async function receivedIn(name: string, options: ExportOptions): Promise<string> {
  let [first, last]: (number | null)[] = [];
  await withExportedDatabase(options, (db) => {
    for (const { events } of readSession(db, sessionId(db, name))) {
      for (const { receivedMs } of events) {
        first = Math.min(first ?? receivedMs, receivedMs);
        last = Math.max(last ?? receivedMs, receivedMs);
      }
    }
  });
  return `events received from ${isoTime(first ?? null)} to ${isoTime(last ?? null)}`;
}

function listed(names: readonly string[]): string {
  const rest = names.length - NAMES_LISTED;
  return `${names.slice(0, NAMES_LISTED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
