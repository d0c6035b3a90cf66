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

  add({ session, payload }: Left): void {
    this.sessions.add(session);
    this[payload === NOTHING.payload ? 'emptied' : 'renamed']++;
  }
}

/** What is left of an event without the players of a redactor. */
interface Left {
  readonly seq: number;
  readonly session: string | null;
  readonly payload: string;
  readonly extra: string | null;
  readonly checksum: number;
}

/** Takes the players of a redactor out of all events that are stored now. @param on is called with how many were read. */
export function* erasedEvents(
  db: Database,
  redactor: Redactor,
  rows: () => number,
  tally: ErasedTally,
  on: (read: number) => void,
): Generator<Step> {
  const update = db.prepare(
    'UPDATE event SET payload = @payload, extra = @extra, checksum = @checksum, erased = 1 WHERE seq = @seq',
  );
  for (const { lefts, read } of withoutPlayers(db, redactor, rows)) {
    const step = () => {
      for (const left of lefts) update.run(left);
    };
    yield lefts.length === 0 ? undefined : step;
    for (const left of lefts) tally.add(left);
    on(read);
  }
}

/**
 * Reads all events that are stored now, some at a time. Events that arrive meanwhile are redacted on arrival.
 * @param also called with each event, and with what is left of one that names a player.
 * @yields what is left of those that do, and how many were read so far.
 */
export function* withoutPlayers(
  db: Database,
  redactor: Redactor,
  rows: () => number,
  also: (row: ArrivalRow, left: Left | undefined) => void = () => {},
): Generator<{ readonly lefts: readonly Left[]; readonly read: number }> {
  const decoder = new ArrivalDecoder(db);
  const events = db
    .prepare<[number, number], ArrivalRow>(
      `SELECT ${ARRIVAL_COLUMNS} FROM event e WHERE seq > ? AND seq <= ? ORDER BY seq`,
    )
    .raw();
  const bounds = db.prepare<[], [first: number | null, last: number | null]>(
    'SELECT (SELECT min(seq) FROM event), (SELECT max(seq) FROM event)',
  );
  const [first, last] = bounds.raw().get()!;
  const before = (first ?? 1) - 1;
  for (let after = before; after < (last ?? 0); ) {
    const upTo = Math.min(last!, after + READS_PER_ROW * rows());
    const lefts: Left[] = [];
    for (const row of events.iterate(after, upTo)) {
      const left = leftOf(row, decoder, redactor);
      if (left !== undefined) lefts.push(left);
      also(row, left);
    }
    yield { lefts, read: upTo - before };
    after = upTo;
  }
}

/** A damaged event loses all if it may name a player, and stays damaged. @returns undefined if it names none. */
function leftOf(row: ArrivalRow, decoder: ArrivalDecoder, redactor: Redactor): Left | undefined {
  const [seq, session] = row;
  const found = decoder.event(row, new Damage());
  if (found === undefined)
    return redactor.names(`${row[11]} ${row[12]}`)
      ? { seq, session, ...NOTHING, checksum: row[10] }
      : undefined;
  const event = { ...found, eotNs: nsOf(found.eotHigh, found.eotLow) };
  const left = redactor.redact(event);
  if (left === event) return undefined;
  const { payload, extra } = left;
  return { seq, session, payload, extra, checksum: checksumOf(left, left, originChecksum(left)) };
}
