import type { Command } from 'commander';
import { OperatorError } from '../../base/operatorError.ts';
import { counted, isoTime } from '../../base/units.ts';
import { shellWord } from '../../base/visibleText.ts';
import { eventToJson } from '../../protocol/courtEvent.ts';
import { type DataOption, withDatabase } from '../../store/db/openDatabase.ts';
import { Damage } from '../../store/read/damage.ts';
import { sessionId as idOf } from '../../store/read/sessions.ts';
import { findRevisions } from '../../store/read/storedEvent.ts';
import { json } from '../options/optionParsers.ts';
import { type JsonOption, pairsText, printData, printText } from '../terminal/output.ts';

export function define(command: Command): void {
  command
    .command('show')
    .description('show every revision of one event')
    .argument('<session>')
    .argument('<event>')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  courtd event show match-17 bounce-0042')
    .action((session, id, _options, command) => show(session, id, command.optsWithGlobals()));
}

/** `courtd event show S EVENT_ID`: every stored revision. */
async function show(sessionId: string, eventId: string, options: DataOption & JsonOption): Promise<void> {
  const damage = new Damage();
  const revisions = await withDatabase(options, (db) =>
    findRevisions(db, idOf(db, sessionId), eventId, damage),
  );
  if (revisions.length === 0) {
    damage.assertNone();
    throw new OperatorError(
      `There is no event ${JSON.stringify(eventId)} in session ${JSON.stringify(sessionId)}. "courtd export ${shellWord(sessionId)}" shows its events.`,
    );
  }
  const current = revisions.at(-1);
  if (options.json) {
    // The event as text, because JSON.parse would round numbers that a double cannot hold.
    const items = revisions.map((event) => {
      const erased = event.erased ? ',"erased":true' : '';
      const mark = `"current":${event === current},"received_at":"${isoTime(event.receivedMs)}"${erased}`;
      return `  {${mark},"conflicting_copies":${event.conflictingCopies},"event":${eventToJson(event)}}`;
    });
    printData(`[\n${items.join(',\n')}\n]\n`);
    return damage.assertNone();
  }
  for (const event of revisions) {
    const mark = event === current ? 'current' : 'replaced by a higher revision';
    printText(`revision ${event.revision} (${mark}${event.erased ? '; a player was erased from it' : ''})\n`);
    const { source, confidence, schemaVersion, extra, conflictingCopies: copies } = event;
    const pairs: [label: string, value: string][] = [
      ['eot', event.eot],
      ['type', event.type],
      ['court', event.courtId],
      ['venue', event.venueId],
      ['source', `${source}, confidence ${confidence}, schema ${schemaVersion}`],
      ['received', isoTime(event.receivedMs)],
      ['payload', event.payload],
    ];
    if (extra !== null) pairs.push(['extra', extra]);
    if (copies > 0) pairs.push(['conflicts', `sent again with other content: ${counted(copies, 'time')}`]);
    printText(pairsText(pairs));
  }
  damage.assertNone();
}
