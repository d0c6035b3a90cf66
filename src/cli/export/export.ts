import { fileSink } from '../../base/fileSink.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { DICTIONARY, dictionaryEntries } from '../../session/export/columns.ts';
import { BINARY_FORMATS } from '../../session/export/eventWriter.ts';
import { type ExportOptions, writeSession } from '../../session/export/writeSession.ts';
import { withDatabase } from '../../store/open/withDatabase.ts';
import { Damage } from '../../store/read/damage.ts';
import { summarizeSession } from '../../store/read/sessions.ts';
import { type JsonOption, Progress, printJson, printTable, say, stdoutSink } from '../terminal/output.ts';

/** The most courts or types that a message lists. */
const NAMES_LISTED = 10;

/** `courtd export SESSION` */
export async function exportSession(
  name: string,
  { output, ...options }: ExportOptions & { readonly output?: string },
): Promise<void> {
  const { format } = options;
  if (output === undefined && process.stdout.isTTY && BINARY_FORMATS.includes(format))
    throw new OperatorError(
      `A terminal cannot show ${format}. Name a file with -o, such as -o match.${format}.`,
    );
  const damage = new Damage();
  const destination =
    output === undefined ? { open: stdoutSink } : { file: output, open: () => fileSink(output) };
  const events = await writeSession(name, options, damage, destination, new Progress());
  damage.assertNone();
  if (events !== 0) return;
  // A court is easily misspelt, and a time given in the wrong time zone.
  const session = await withDatabase(options, (db) => summarizeSession(db, name));
  const { by_court, by_type, first_eot, last_eot } = session;
  say(
    `No event matched. Session ${JSON.stringify(name)} has the courts ${listed(by_court)}, the types ${listed(by_type)}, and events from ${first_eot} to ${last_eot}.`,
  );
}

function listed(counts: Readonly<Record<string, number>>): string {
  const names = Object.keys(counts);
  const rest = names.length - NAMES_LISTED;
  return `${names.slice(0, NAMES_LISTED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** `courtd export --describe`: the data dictionary. Needs no database. */
export function describe({ json }: JsonOption): void {
  if (json === true) return printJson(dictionaryEntries());
  printTable(
    ['column', 'unit', 'from', 'meaning'],
    DICTIONARY.map(({ name, unit, from, meaning }) => [name, unit ?? '', from, meaning]),
  );
}
