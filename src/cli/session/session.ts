import { counted } from '../../base/units.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { Damage } from '../../store/read/damage.ts';
import { listSessions, summarizeSession } from '../../store/read/sessions.ts';
import { printList } from '../terminal/listOutput.ts';
import { type JsonOption, printJson, printPairs, say } from '../terminal/output.ts';

/** Counts of one kind that are printed in a line: where revisions are times, each event has its own. */
const NAMES_SHOWN = 20;

interface ListOptions extends DataOption, JsonOption {
  readonly last?: number;
}

/** `courtd session list` */
export async function list({ last, json: isJson = false, ...options }: ListOptions): Promise<void> {
  const isEmpty = await withDatabase(options, (db) => printList(listSessions(db, last), isJson));
  if (isEmpty && !isJson) say('No event has been stored yet.');
}

export async function show(name: string, options: DataOption & JsonOption): Promise<void> {
  const damage = new Damage();
  const summary = await withDatabase(options, (db) => summarizeSession(db, name, damage));
  if (options.json) {
    printJson(summary);
    return damage.assertNone();
  }
  const { by_type, by_court, by_revision, lateness, ...line } = summary;
  const counts = (byName: Readonly<Record<string, number>>) => {
    const all = Object.entries(byName).map(([name, count]) => `${name} ${count}`);
    const more = all.length - NAMES_SHOWN;
    return all.slice(0, NAMES_SHOWN).join(', ') + (more > 0 ? `, and ${more} more (--json has all)` : '');
  };
  const { min_s, mean_s, max_s, future_events } = lateness;
  printPairs([
    ...Object.entries(line).map(
      ([label, value]) => [label.replaceAll('_', ' '), String(value ?? '-')] as const,
    ),
    ['by type', counts(by_type)],
    ['by court', counts(by_court)],
    ['by revision', counts(by_revision)],
    [
      'lateness',
      `min ${min_s} s, mean ${mean_s} s, max ${max_s} s; ${counted(future_events, 'event')} received before ${future_events === 1 ? 'its' : 'their'} eot`,
    ],
  ]);
  if (summary.conflicts > 0) {
    say(
      `${counted(summary.conflicts, 'conflict')}: events sent again with different content; the first version is kept. A camera that corrects an event must raise its revision, and no two cameras may use the same event_id: a UUID is unique.`,
    );
  }
  damage.assertNone();
}
