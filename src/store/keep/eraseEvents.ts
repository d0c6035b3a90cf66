import type { Database } from 'better-sqlite3';
import { NOTHING } from '../../protocol/playerRedaction.ts';
import { checksumOf, nsOf, originChecksum } from '../db/checksum.ts';
import { ARRIVAL_COLUMNS, ArrivalDecoder, type ArrivalRow } from '../read/arrivalRow.ts';
import { Damage } from '../read/damage.ts';
import type { Redactor } from '../write/redactor.ts';
import type { Step } from './steps.ts';

/** Events that are read, for each that a step may change: 5 us each. */
const READS_PER_ROW = 5;

/** What was taken out. */
export class ErasedTally {
  /** Events of which nothing is left but that they were there. */
  emptied = 0;
  /** Events in which a player has another name. */
  renamed = 0;
  readonly sessions = new Set<string | null>();
  conflictCopies = 0;
}

/**
 * Takes the players of a redactor out of all events that are stored now. Events that arrive meanwhile are redacted on arrival.
 * @param rows a fifth of the events that one step reads. @param on is called with how many were read.
 * @yields steps that change events: without them, `tally` has what they would change.
 */
export function* erasedEvents(
  db: Database,
  redactor: Redactor,
  rows: () => number,
  tally: ErasedTally,
  on: (read: number) => void,
): Generator<Step> {
  const decoder = new ArrivalDecoder(db);
  const events = db
    .prepare<[number, number], ArrivalRow>(
      `SELECT ${ARRIVAL_COLUMNS} FROM event e WHERE seq > ? AND seq <= ? ORDER BY seq`,
    )
    .raw();
  const update = db.prepare(
    'UPDATE event SET payload = @payload, extra = @extra, checksum = @checksum, erased = 1 WHERE seq = @seq',
  );
  const [first, last] = db
    .prepare<[], [number, number]>('SELECT ifnull(min(seq), 1), ifnull(max(seq), 0) FROM event')
    .raw()
    .get()!;
  for (let after = first - 1; after < last; ) {
    const upTo = Math.min(last, after + READS_PER_ROW * rows());
    const lefts: object[] = [];
    for (const row of events.iterate(after, upTo)) {
      const left = leftOf(row, decoder, redactor);
      if (left === undefined) continue;
      lefts.push({ ...left, seq: row[0] });
      tally.sessions.add(row[1]);
      tally[left.payload === NOTHING.payload ? 'emptied' : 'renamed']++;
    }
    const step = () => {
      for (const left of lefts) update.run(left);
    };
    yield lefts.length === 0 ? undefined : step;
    on(upTo - first + 1);
    after = upTo;
  }
}

/**
 * A damaged event loses all if it may name a player, and stays damaged.
 * @returns what is left of an event without the players of a redactor; undefined if it names none.
 */
function leftOf(row: ArrivalRow, decoder: ArrivalDecoder, redactor: Redactor) {
  const found = decoder.event(row, new Damage());
  if (found === undefined)
    return redactor.names(`${row[11]} ${row[12]}`) ? { ...NOTHING, checksum: row[10] } : undefined;
  const event = { ...found, eotNs: nsOf(found.eotHigh, found.eotLow) };
  const left = redactor.redact(event);
  if (left === event) return undefined;
  return { payload: left.payload, extra: left.extra, checksum: checksumOf(left, left, originChecksum(left)) };
}
