import type { Database } from 'better-sqlite3';
import type { Arrival } from '../../protocol/courtEvent.ts';
import { LAST_GIVEN_SEQ } from '../db/epochs.ts';
import { Damage } from './damage.ts';
import { chunkOf, EVENT_COLUMNS, EVENTS, type StoredEvent } from './storedEvent.ts';

/** Seqs among which `tail` looks in one read for events that pass its filter: a log of a year would keep the WAL for minutes. */
const LOOK_SEQS = 20_000;

type Filtered = 'sessionId' | 'type' | 'courtId' | 'source';
/** Which events; absent: all. */
export type ArrivalFilter = { readonly [name in Filtered]?: string | undefined };

/**
 * Reads events in the order of arrival, in a short read that is bounded in rows and bytes, so that the WAL is never pinned for long.
 *
 * No event is stored later with a lower seq. The only writer assigns seqs inside the transaction that stores the events, each
 * higher than all before it, and commits one transaction after another; a rollback leaves a hole that nothing fills. So a reader
 * that continues after the last seq that it has read gets every event once.
 * @param seq what was read last; 0: nothing.
 * @param limit events at the most; fewer if they are large.
 * @param damage takes the damaged events, which are left out; absent: one of the chunk's own.
 */
export function arrivalsAfter(
  db: Database,
  seq: number,
  limit: number,
  filter: ArrivalFilter = {},
  damage = new Damage(),
) {
  const seqs = db.prepare<[], { lastSeq: number; prunedSeq: number }>(
    `SELECT ${LAST_GIVEN_SEQ} AS lastSeq, (SELECT up_to_seq FROM pruned) AS prunedSeq`,
  );
  const rows = db.prepare<[number, number], StoredEvent>(
    `SELECT ${EVENT_COLUMNS} FROM ${EVENTS} WHERE e.seq > ? ORDER BY e.seq LIMIT ?`,
  );
  const { lastSeq, prunedSeq } = seqs.get()!;
  const { events, last } = chunkOf(rows.iterate(seq, limit), damage);
  const wanted = namesIn(filter);
  return {
    /** Those that pass the filter, in the order of arrival. */
    events: events.filter((event: Arrival) => wanted.every((name) => event[name] === filter[name])),
    /** Events that were left out, whatever the filter, because a damaged event may be of any court. */
    damage,
    /** Every event up to this seq has been considered: the next chunk begins after it. */
    upTo: last?.seq ?? Math.max(seq, lastSeq),
    /** The highest seq that was ever assigned. There are holes: the seqs of duplicates, and of rolled back events. */
    lastSeq,
    /** Whether no later event is stored. */
    isLast: last === undefined || last.seq >= lastSeq,
    /** The highest seq whose event was pruned; 0: none. */
    prunedSeq,
  };
}

/** Looks back from the newest event, in short reads. @returns the seq after which the newest `count` events that pass the filter begin. */
export function beforeNewest(db: Database, count: number, filter: ArrivalFilter): number {
  const isWanted = namesIn(filter).map((name) => `AND ${name} = @${name}`);
  const latest = db.prepare<[object], number>(`
    SELECT seq FROM (SELECT ${EVENT_COLUMNS} FROM ${EVENTS})
     WHERE seq > @after AND seq <= @upTo ${isWanted.join(' ')} ORDER BY seq DESC LIMIT @left`);
  let upTo = db.prepare<[], number>(`SELECT ${LAST_GIVEN_SEQ}`).pluck().get()!;
  for (let left = count; left > 0 && upTo > 0; ) {
    const after = Math.max(0, upTo - LOOK_SEQS);
    const seqs = latest.pluck().all({ ...filter, after, upTo, left });
    left -= seqs.length;
    upTo = left > 0 ? after : seqs.at(-1)! - 1;
  }
  return upTo;
}

function namesIn(filter: ArrivalFilter): Filtered[] {
  return (Object.keys(filter) as Filtered[]).filter((name) => filter[name] !== undefined);
}
