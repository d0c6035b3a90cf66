import type { Database } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { NOTHING } from '../../protocol/playerRedaction.ts';
import { checksumOf, nsOf, originChecksum } from '../db/checksum.ts';
import { ArrivalDecoder, type ArrivalRow } from '../read/arrivalRow.ts';
import { Damage } from '../read/damage.ts';
import type { Redactor } from '../write/redactor.ts';
import type { Step } from './steps.ts';

/** Events that are looked at, for each that a step may change: 0.6 us each. */
const LOOKS_PER_ROW = 10;

/** What was taken out of the events. */
interface ErasedEvents {
  /** Of which nothing is left but that they were there. */
  emptied: number;
  /** In which a player has another name. */
  renamed: number;
  readonly sessions: Set<string>;
}

/**
 * Takes the players of a redactor out of all events that are stored now.
 * @param player the only one, if known: rows that cannot name this player are not parsed.
 * @param on is called with how many events were looked at.
 */
export function* erasedEvents(
  db: Database,
  redactor: Redactor,
  player: string | undefined,
  rows: () => number,
  tally: ErasedEvents,
  on: (looked: number) => void,
): Generator<Step> {
  const decoder = new ArrivalDecoder(db);
  const update = db.prepare(
    'UPDATE event SET payload = @payload, extra = @extra, checksum = @checksum, erased = 1 WHERE seq = @seq',
  );
  for (const { seqs, looked } of candidates(db, player, rows)) {
    let changed: { readonly session: string | null; readonly payload: string }[] = [];
    const step = () => {
      changed = seqs.flatMap((seq) => {
        const row = decoder.row(seq);
        const left = row && withoutPlayers(row, decoder, redactor);
        if (left === undefined) return [];
        update.run({ ...left, seq });
        return [{ session: row![1], payload: left.payload }];
      });
    };
    yield seqs.length === 0 ? undefined : step;
    for (const { session, ...left } of changed) count(tally, session, left);
    on(looked);
  }
}

/** Counts an event of which `left` is left. */
export function count(tally: ErasedEvents, session: string | null, left: Pick<CourtEvent, 'payload'>): void {
  tally.sessions.add(session ?? '');
  tally[left.payload === NOTHING.payload ? 'emptied' : 'renamed']++;
}

/**
 * @param row of a damaged event: it loses all if it may name one of them, and stays damaged.
 * @returns what is left of the event of a row without the players of a redactor; undefined if it names none.
 */
export function withoutPlayers(row: ArrivalRow, decoder: ArrivalDecoder, redactor: Redactor) {
  const found = decoder.event(row, new Damage());
  if (found === undefined)
    return redactor.names(`${row[11]} ${row[12]}`) ? { ...NOTHING, checksum: row[10] } : undefined;
  const event = { ...found, eotNs: nsOf(found.eotHigh, found.eotLow) };
  const left = redactor.redact(event);
  if (left === event) return undefined;
  const checksum = checksumOf(left, left, originChecksum(left));
  return { payload: left.payload, extra: left.extra, checksum };
}

/**
 * @yields the seqs of events that may name a player, at most `rows`, and how many were looked at so far. A text with a backslash may
 * name the player in another spelling. Events that arrive meanwhile are redacted on arrival.
 */
export function* candidates(
  db: Database,
  player: string | undefined,
  rows: () => number,
): Generator<{ readonly seqs: readonly number[]; readonly looked: number }> {
  const isNamed = (column: string) => `instr(${column}, @player) > 0 OR instr(${column}, char(92)) > 0`;
  const find = db.prepare<[object], number>(`
    SELECT seq FROM event WHERE seq > @after AND seq <= @upTo
       AND (@player IS NULL OR ${isNamed('payload')} OR ifnull(${isNamed('extra')}, 0) OR instr(event_id, @player) > 0)`);
  const bounds = db.prepare<[], [first: number | null, last: number | null]>(
    'SELECT (SELECT min(seq) FROM event), (SELECT max(seq) FROM event)',
  );
  const [first, last] = bounds.raw().get()!;
  const before = (first ?? 1) - 1;
  for (let after = before; after < (last ?? 0); ) {
    const upTo = Math.min(last!, after + LOOKS_PER_ROW * rows());
    const seqs = find.pluck().all({ after, upTo, player: player ?? null });
    do yield { seqs: seqs.splice(0, rows()), looked: upTo - before };
    while (seqs.length > 0);
    after = upTo;
  }
}
