import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import type { Database } from 'better-sqlite3';
import type { Command } from 'commander';
import { OperatorError } from '../../base/operatorError.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { PlayerCounts } from '../../session/analysis/playerCounts.ts';
import { jsonLine } from '../../session/export/encode.ts';
import { writtenSentence } from '../../session/export/writeSession.ts';
import { type DataOption, withDatabase } from '../../store/db/openDatabase.ts';
import { Damage } from '../../store/read/damage.ts';
import { type NamedEvent, readNamed, readPlayer } from '../../store/read/namedPlayers.ts';
import { json, notEmpty, output } from '../options/optionParsers.ts';
import { parseTime, TIMES_HELP } from '../options/times.ts';
import { type JsonOption, outputSink, printList, progress, say } from '../terminal/output.ts';
import { erase } from './playerErase.ts';

export function define(command: Command): void {
  command
    .command('list')
    .description('show every player, the one with the latest event first')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  courtd player list')
    .action((_options, command) => list(command.optsWithGlobals()));
  command
    .command('export')
    .description('export all events that name a player, of all sessions, as NDJSON in order of eot')
    .argument('<player>')
    .addOption(output())
    .addHelpText('after', '\nExample:\n  courtd player export player-7 -o player-7.ndjson')
    .action((player, _options, command) => exportPlayer(player, command.optsWithGlobals()));
  command
    .command('erase')
    .description('erase a player from every event, and print a receipt')
    .argument('<player>', '', notEmpty)
    .option('--before <time>', 'only out of events that happened before it', parseTime)
    .option('--dry-run', 'only report what would be erased')
    .option('--yes', 'erase without asking')
    .addOption(json())
    .addHelpText('after', `\n${TIMES_HELP}\n\nExample:\n  sudo courtd player erase player-17 --dry-run`)
    .action((player, _options, command) => erase(player, command.optsWithGlobals()));
}

async function list(options: DataOption & JsonOption): Promise<void> {
  const damage = new Damage();
  const players = await withDatabase(options, async (db) => {
    const counts = new PlayerCounts();
    await eachNamed(db, damage, (events) => counts.add(events));
    return counts.players();
  });
  printList(players, options, 'No stored event names a player.');
  damage.assertNone();
}

/** Finds the events of a player in the order of arrival, sorts them by eot, and reads them again in that order. */
async function exportPlayer(
  player: string,
  { output, ...options }: DataOption & { readonly output?: string },
): Promise<void> {
  const damage = new Damage();
  await withDatabase(options, async (db) => {
    const [ms, found]: [number, number[]] = [Date.now(), []];
    const seq = await eachNamed(db, damage, (events) => {
      for (const event of events) if (event.player === player) found.push(event.seq);
    });
    if (found.length === 0) {
      // What was left out may have named this player.
      damage.assertNone();
      throw new OperatorError(
        `No event names a player ${JSON.stringify(player)}. "courtd player list" shows those that are named.`,
      );
    }
    const sink = outputSink(output);
    let written = 0;
    for (const events of readPlayer(db, player, found, damage)) {
      await sink.write(events.map(jsonLine).join(''));
      written += events.length;
      progress.show(() => `${written} of ${found.length} events written`);
    }
    sink.commit();
    say(writtenSentence(written, { seq, ms }, sink));
  });
  damage.assertNone();
}

/** Reads all events during ingest, shows its progress, and handles signals. @returns the seq up to which it has read. */
async function eachNamed(
  db: Database,
  damage: Damage,
  take: (events: readonly NamedEvent[]) => void,
): Promise<number> {
  yieldToIngest();
  // By default the heap may grow far before V8 collects garbage.
  setFlagsFromString('--heap-growing-percent=50');
  let last = 0;
  for (const { events, upTo, lastSeq } of readNamed(db, damage)) {
    take(events);
    last = lastSeq;
    progress.show(() => `${Math.floor((100 * upTo) / lastSeq)} % of the events read`);
    await setImmediate();
  }
  return last;
}
