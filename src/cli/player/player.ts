import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import type { Database } from 'better-sqlite3';
import { OperatorError } from '../../base/operatorError.ts';
import { visible } from '../../base/visibleText.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { isErasedName } from '../../store/erasure/redactor.ts';
import { type DataOption, withDatabase } from '../../store/open/withDatabase.ts';
import { Damage } from '../../store/read/damage.ts';
import { type NamedEvent, PlayerCounts, readNamed } from '../../store/read/players.ts';
import { printList } from '../terminal/listOutput.ts';
import { type JsonOption, Progress, printJson, printPairs, printTable, say } from '../terminal/output.ts';
import { cut } from '../terminal/style.ts';

interface ListOptions extends DataOption, JsonOption {
  readonly last?: number;
}

/** `courtd player list` */
export async function list({ last, json: isJson = false, ...options }: ListOptions): Promise<void> {
  const damage = new Damage();
  const isEmpty = await withDatabase(options, async (db) => {
    const counts = new PlayerCounts(db);
    // What an erasure has put in a player's place is nobody.
    const isSomebody = ({ erased, player }: NamedEvent) => !(erased && isErasedName(player));
    await eachNamed(db, damage, (events) => counts.add(events.filter(isSomebody)));
    return printList(isJson ? counts.players(last) : shown(counts.players(last)), isJson);
  });
  if (isEmpty && !isJson) say('No event that is stored names a player.');
  damage.assertNone();
}

/** Of a table; an id may be as long as a body. */
const ID_COLUMNS = 40;

function* shown<Line extends { readonly player_id: string }>(
  batches: Iterable<readonly Line[]>,
): Generator<Line[]> {
  for (const batch of batches)
    yield batch.map((line) => ({ ...line, player_id: cut(visible(line.player_id), ID_COLUMNS) }));
}

/** `courtd player show P` */
export async function show(player: string, options: DataOption & JsonOption): Promise<void> {
  const damage = new Damage();
  const { line, by_session } = await withDatabase(options, async (db) => {
    const counts = new PlayerCounts(db);
    await eachNamed(db, damage, (events) => counts.add(events.filter((event) => event.player === player)));
    const [line] = [...counts.players()].flat();
    return { line, by_session: counts.sessions() };
  });
  if (line === undefined) throw unknown(player, damage);
  const by_type: Record<string, number> = {};
  for (const session of by_session) {
    for (const [type, events] of Object.entries(session.by_type))
      by_type[type] = (by_type[type] ?? 0) + events;
  }
  if (options.json) {
    printJson({ ...line, by_type, by_session });
    return damage.assertNone();
  }
  const typesOf = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([type, events]) => `${type} ${events}`)
      .join(', ');
  printPairs([
    ...Object.entries(line).map(([label, value]) => [label.replaceAll('_', ' '), `${value}`] as const),
    ['by type', typesOf(by_type)],
  ]);
  const rows = by_session.map(({ by_type, ...session }) => [...Object.values(session), typesOf(by_type)]);
  printTable(['session_id', 'events', 'first_eot', 'last_eot', 'by type'], rows);
  damage.assertNone();
}

/** Reads all events beside ingest, shows how far it is, and lets signals through. @returns the seq up to which they were read. */
export async function eachNamed(
  db: Database,
  damage: Damage,
  take: (events: readonly NamedEvent[]) => void,
): Promise<number> {
  yieldToIngest();
  // By default the heap may grow far before V8 collects garbage.
  setFlagsFromString('--heap-growing-percent=50');
  const progress = new Progress();
  let last = 0;
  for (const { events, upTo, lastSeq } of readNamed(db, damage)) {
    take(events);
    last = lastSeq;
    progress.show(() => `${Math.floor((100 * upTo) / lastSeq)} % of the events read`);
    await setImmediate();
  }
  progress.clear();
  return last;
}

/** @param damage what was left out may have named him. */
export function unknown(player: string, damage: Damage): OperatorError {
  damage.assertNone();
  return new OperatorError(
    `No event names a player ${JSON.stringify(player)}: "courtd player list" shows those that are named.`,
  );
}
