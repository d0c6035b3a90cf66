import type { Database } from 'better-sqlite3';
import type { Arrival, CourtEvent } from '../../protocol/event.ts';
import { NOTHING } from '../../protocol/playerRedaction.ts';
import { checksumOf, type EotHalves, isIntact, nsOf, originChecksum } from '../db/checksum.ts';
import type { Redactor } from '../write/redactor.ts';
import type { Step } from './steps.ts';

/** Events that are looked at, for each that a step may change: 0.6 us each. */
const LOOKS_PER_ROW = 10;

/** What was taken out of the events. */
export interface ErasedEvents {
  /** Of which nothing is left but that they were there. */
  emptied: number;
  /** In which a player has another name. */
  renamed: number;
  readonly sessions: Set<number>;
}

/** Of an event: its names are null if they are missing. */
export type EventRow = Omit<Arrival, 'type' | 'erased'> &
  EotHalves & {
    readonly session: number;
    readonly type: Arrival['type'] | null;
    readonly checksum: number;
    readonly erased: 1 | null;
  };

/**
 * Selects EventRows; append a WHERE clause, with `+?` for a parameter: SQLite plans a join again for each value that is bound to a bare
 * one, since the value may change the plan (its option STAT4). That takes five times as long as the row itself.
 */
export const SELECT_EVENT = `
  SELECT e.session, e.seq, s.name AS sessionId, e.event_id AS eventId, e.revision, e.eot, e.eot_ns >> 32 AS eotHigh,
         e.eot_ns & 4294967295 AS eotLow, o.type, o.court AS courtId, o.venue AS venueId, e.confidence, o.source,
         o.schema_version AS schemaVersion, e.received_ms AS receivedMs, e.checksum, e.payload, e.extra, e.erased
    FROM event e LEFT JOIN session s ON s.id = e.session LEFT JOIN origin o ON o.id = e.origin`;

/** @returns what finds the row of an event. */
export function rowOf(db: Database): (seq: number) => EventRow | undefined {
  const row = db.prepare<[number], EventRow>(`${SELECT_EVENT} WHERE e.seq = +?`);
  return (seq) => row.get(seq);
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
  const row = rowOf(db);
  const update = db.prepare(
    'UPDATE event SET payload = ?, extra = ?, checksum = ?, erased = 1 WHERE seq = ?',
  );
  let done = 0;
  for (const { seqs, looked } of candidates(db, player, rows)) {
    let changed: { readonly session: number; readonly isEmpty: boolean }[] = [];
    yield seqs.length === 0
      ? undefined
      : () => {
          changed = seqs.flatMap((seq) => {
            const found = row(seq);
            const left = found && withoutPlayers(found, redactor);
            if (left === undefined) return [];
            update.run(left.payload, left.extra, left.checksum, seq);
            return [{ session: found!.session, isEmpty: isEmpty(left) }];
          });
        };
    for (const { session, isEmpty } of changed) {
      tally.sessions.add(session);
      if (isEmpty) tally.emptied++;
      else tally.renamed++;
    }
    done += looked;
    on(done);
  }
}

/** @returns the event of a row without the players of a redactor; undefined if it names none. */
export function withoutPlayers(row: EventRow, redactor: Redactor) {
  const { type, sessionId, eotHigh, eotLow, erased, session: _session, ...rest } = row;
  const event = {
    ...rest,
    eotNs: nsOf(eotHigh, eotLow),
    sessionId: sessionId ?? '',
    type: type ?? 'PLAYER_POSITION',
    ...(erased === 1 && { erased: true }),
  };
  const names = originChecksum(event);
  const isSound = type !== null && isIntact({ ...event, eotHigh, eotLow }, names, row.checksum);
  const redacted = redactor.redact(event);
  if (redacted === event) return undefined;
  const left = isSound ? redacted : { ...redacted, ...NOTHING };
  // A damaged event stays one that is damaged.
  const checksum = isSound ? checksumOf(left, event, names) : row.checksum;
  return { payload: left.payload, extra: left.extra, checksum };
}

export const isEmpty = ({ payload }: Pick<CourtEvent, 'payload'>) => payload === NOTHING.payload;

/**
 * @yields the seqs of events that may name a player, at most `rows`, and how many were looked at. A text with a backslash may name
 * the player in another spelling. What comes meanwhile is redacted on its way in.
 */
export function* candidates(
  db: Database,
  player: string | undefined,
  rows: () => number,
): Generator<{ readonly seqs: readonly number[]; readonly looked: number }> {
  const isNamed = (column: string) => `instr(${column}, @player) > 0 OR instr(${column}, char(92)) > 0`;
  // As one row: a row for each event is garbage, and collecting that holds up requests.
  const read = db.prepare<[object], { readonly upTo: number | null; readonly seqs: string }>(`
    SELECT max(seq) AS upTo, json_group_array(seq) FILTER (WHERE isOne) AS seqs
      FROM (SELECT seq, @player IS NULL OR ${isNamed('payload')} OR ifnull(${isNamed('extra')}, 0) OR
                        instr(event_id, @player) > 0 AS isOne
              FROM event WHERE seq > @after AND seq <= @last ORDER BY seq LIMIT @looks)`);
  const bounds = db.prepare<[], { first: number | null; last: number | null }>(
    'SELECT (SELECT min(seq) FROM event) AS first, (SELECT max(seq) FROM event) AS last',
  );
  const { first, last } = bounds.get()!;
  for (let after = (first ?? 1) - 1; after < (last ?? 0); ) {
    const most = rows();
    const { upTo, seqs } = read.get({ after, last, player: player ?? null, looks: LOOKS_PER_ROW * most })!;
    if (upTo === null) return;
    const all: number[] = JSON.parse(seqs);
    const some = all.slice(0, most);
    const next = some.length < all.length ? some.at(-1)! : upTo;
    yield { seqs: some, looked: next - after };
    after = next;
  }
}
