import type { Command } from 'commander';
import { counted } from '../../base/units.ts';
import { shellWord } from '../../base/visibleText.ts';
import { summarizeSession } from '../../session/analysis/sessionSummary.ts';
import { type DataOption, withDatabase } from '../../store/db/openDatabase.ts';
import { Damage } from '../../store/read/damage.ts';
import { listSessions } from '../../store/read/sessions.ts';
import { integer, json } from '../options/optionParsers.ts';
import { type JsonOption, pairsText, printJson, printList, printText, say } from '../terminal/output.ts';

export function define(command: Command): void {
  command
    .command('list')
    .description('list the sessions, newest first, by when the first event was received')
    .option('--last <n>', 'only the newest n', integer(1, 1_000_000_000))
    .addOption(json())
    .addHelpText('after', `\nExample:\n  courtd session list --json | jq -r '.[].session_id'`)
    .action((_options, command) => list(command.optsWithGlobals()));
  command
    .command('show')
    .description('show one session: events by type and court, revisions, duplicates, conflicts, lateness')
    .argument('<session>')
    .addOption(json())
    .addHelpText('after', '\nExample:\n  courtd session show match-17')
    .action((name, _options, command) => show(name, command.optsWithGlobals()));
}

async function list(options: DataOption & JsonOption & { readonly last?: number }): Promise<void> {
  const lines = await withDatabase(options, (db) => listSessions(db, options.last));
  printList(lines, options, 'No event has been stored yet.');
}

async function show(name: string, options: DataOption & JsonOption): Promise<void> {
  const damage = new Damage();
  const summary = await withDatabase(options, (db) => summarizeSession(db, name, damage));
  if (options.json) printJson(summary);
  else print(name, summary);
  damage.assertNone();
}

function print(name: string, summary: ReturnType<typeof summarizeSession>): void {
  // If revisions are times, each event has its own: --json has them.
  const { by_type, by_court, by_revision: _, lateness, ...line } = summary;
  const counts = (byName: Readonly<Record<string, number>>) =>
    Object.entries(byName)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  const { min_s, mean_s, max_s, future_events } = lateness;
  const future = `${counted(future_events, 'event')} received before ${future_events === 1 ? 'its' : 'their'} eot`;
  const facts = Object.entries(line).map(
    ([label, value]) => [label.replaceAll('_', ' '), String(value ?? '-')] as const,
  );
  const pairs = pairsText([
    ...facts,
    ['by type', counts(by_type)],
    ['by court', counts(by_court)],
    ['lateness', `min ${min_s} s, mean ${mean_s} s, max ${max_s} s; ${future}`],
  ]);
  printText(pairs);
  if (summary.conflicts > 0)
    say(
      `${counted(summary.conflicts, 'event')} came again with other content: the first version is kept. "courtd conflicts ${shellWord(name)}" shows both.`,
    );
}
