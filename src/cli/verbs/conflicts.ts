import type { Command } from 'commander';
import { isoTime } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import { eventToJson } from '../../protocol/courtEvent.ts';
import { type DataOption, withDatabase } from '../../store/db/openDatabase.ts';
import { Damage } from '../../store/read/damage.ts';
import { sessionId } from '../../store/read/sessions.ts';
import { countConflicts, readConflicts, type StoredConflict } from '../../store/read/storedConflicts.ts';
import { json } from '../options/optionParsers.ts';
import { type JsonOption, say, stdoutSink } from '../terminal/output.ts';
import { sideBySide } from '../terminal/sideBySide.ts';

const HELP = `
An event comes again with other content if a camera does not raise its revision,
or if two cameras use the same event_id. The first version stays stored. The
latest other version is kept, for the newest 1,000 conflicts.

Example:
  courtd conflicts --json | jq -r '.[] | "\\(.source) \\(.times)"'`;

export function define(command: Command): void {
  command
    .argument('[session]')
    .addOption(json())
    .addHelpText('after', HELP)
    .action((session, _options, command) => conflicts(session, command.optsWithGlobals()));
}

/** Prints the newest conflicts first. */
async function conflicts(session: string | undefined, options: DataOption & JsonOption): Promise<void> {
  const { json: isJson } = options;
  const { write } = stdoutSink();
  const damage = new Damage();
  const { shown, all } = await withDatabase(options, async (db) => {
    const id = session === undefined ? undefined : sessionId(db, session);
    let shown = 0;
    for (const some of readConflicts(db, id, damage))
      for (const conflict of some) {
        const text = isJson ? `${shown === 0 ? '[\n' : ',\n'}  ${jsonOf(conflict)}` : textOf(conflict);
        await write(text);
        shown++;
      }
    if (isJson) await write(shown === 0 ? '[]\n' : '\n]\n');
    return { shown, all: countConflicts(db, id) };
  });
  if (all > shown) say(`Copies that an erasure, a prune or newer conflicts have deleted: ${all - shown}.`);
  else if (all === 0 && !isJson) say('No event came again with other content.');
  damage.assertNone();
}

/** The events as text, because JSON.parse would round numbers that a double cannot hold. */
function jsonOf(stored: StoredConflict): string {
  const { sessionId: session_id, eventId: event_id, revision, source, other, times, lastMs } = stored;
  const names = { session_id, event_id, revision, source, times, last_at: isoTime(lastMs) };
  return `${JSON.stringify(names).slice(0, -1)},"stored":${eventToJson(stored)},"other":${other}}`;
}

function textOf(stored: StoredConflict): string {
  const { sessionId, eventId, revision, source, courtId, other, times, lastMs } = stored;
  const often = times === 1 ? 'once' : `${times} times`;
  const lines = [
    `${eventId} of ${sessionId}, revision ${revision}`,
    `  from ${source} on ${courtId}; came again ${often} with other content, last at ${isoTime(lastMs)}`,
    ...(other === null ? [TOO_LARGE] : sideBySide(eventToJson(stored), other)).map((line) => `  ${line}`),
  ];
  return `${lines.map(visible).join('\n')}\n\n`;
}

const TOO_LARGE = 'The latest version is too large to keep: more than 64 KiB.';
