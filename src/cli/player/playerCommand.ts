import type { Command } from 'commander';
import { integer, json, notEmpty } from '../options/optionParsers.ts';
import { parseTime, TIMES_HELP } from '../options/times.ts';

export function addPlayer(program: Command): void {
  const player = program
    .command('player')
    .description('the players that events name, in player_id of their payload')
    .addHelpText('after', '\nEach of these but erase reads all events once: about a minute for ten million.');
  player
    .command('list')
    .description('show every player, the one with the latest event first')
    .option('--last <n>', 'only the first n of them', integer(1, 1_000_000_000))
    .addOption(json())
    .addHelpText('after', '\nExample:\n  courtd player list --last 20')
    .action(async (_options, command) => (await import('./player.ts')).list(command.optsWithGlobals()));
  player
    .command('show')
    .description('show the sessions of one player: events by type, and the first and the last of them')
    .argument('<player>', 'the player_id')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  courtd player show player-7')
    .action(async (id, _options, command) =>
      (await import('./player.ts')).show(id, command.optsWithGlobals()),
    );
  player
    .command('export')
    .description(
      'export all events that name one player, of all sessions and revisions, as NDJSON in order of eot',
    )
    .argument('<player>', 'the player_id')
    .option('-o, --output <file>', 'the file to write, which appears when it is complete', notEmpty)
    .addHelpText('after', '\nExample:\n  courtd player export player-7 -o player-7.ndjson')
    .action(async (id, _options, command) =>
      (await import('./exportPlayer.ts')).exportPlayer(id, command.optsWithGlobals()),
    );
  player
    .command('erase')
    .description('take a player out of every event, and print a receipt for him')
    .argument('<player>', 'the player_id', notEmpty)
    .option('--before <time>', 'only of events that happened before it', parseTime)
    .option('--dry-run', 'only report what would be erased')
    .option('--yes', 'erase without asking')
    .addOption(json())
    .addHelpText('after', `\n${TIMES_HELP}\n\nExample:\n  courtd player erase player-17 --dry-run`)
    .action(async (id, _options, command) =>
      (await import('./erase.ts')).erase(id, command.optsWithGlobals()),
    );
}
