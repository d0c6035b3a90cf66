import type { Database } from 'better-sqlite3';
import { READ_CHUNK_ROWS } from '../../base/limits.ts';
import { playerOf } from '../../protocol/playerRedaction.ts';
import { nsOf } from '../db/checksum.ts';
import { ArrivalReader } from './arrivalReader.ts';
import type { DecodedEvent } from './arrivalRow.ts';
import type { Damage } from './damage.ts';
import { makeOrder, type ReadEvent, readOrdered } from './sessionReader.ts';

/** An event that names a player in `payload.player_id`. */
export type NamedEvent = DecodedEvent & { readonly player: string };

/** Some events of a box, in the order of arrival. */
interface NamedChunk {
  readonly events: readonly NamedEvent[];
  /** Every event up to this seq has been read. */
  readonly upTo: number;
  /** The seq up to which events are read: the highest when the read began. */
  readonly lastSeq: number;
}

/**
 * Reads every event once, in short transactions: no index of players is kept, which would cost ingest (../../ARCHITECTURE.md#players).
 * @param damage takes what is damaged, and left out.
 */
export function* readNamed(db: Database, damage: Damage): Generator<NamedChunk> {
  const reader = new ArrivalReader(db);
  const { lastSeq } = reader;
  for (let upTo = 0; upTo < lastSeq; ) {
    const chunk = reader.after(upTo, READ_CHUNK_ROWS, damage);
    upTo = chunk.isLast ? lastSeq : chunk.upTo;
    const events = chunk.events.flatMap((event) => {
      // The last chunk may have some that came meanwhile.
      const player = event.seq > lastSeq ? undefined : playerOf(event.payload);
      return player === undefined ? [] : [{ ...event, player }];
    });
    yield { events, upTo, lastSeq };
  }
}

/** The events of a player, in the order of eot: a temporary table of the connection, which must be the caller's own. */
export class PlayerEvents {
  readonly #db: Database;
  readonly #insert: (events: readonly NamedEvent[]) => void;
  count = 0;

  constructor(db: Database) {
    this.#db = db;
    db.exec('CREATE TEMP TABLE of_player (seq INTEGER, eot_ns INTEGER)');
    const insert = db.prepare('INSERT INTO temp.of_player VALUES (?, ?)');
    this.#insert = db.transaction((events: readonly NamedEvent[]) => {
      for (const { seq, eotHigh, eotLow } of events) insert.run(seq, nsOf(eotHigh, eotLow));
    });
  }

  add(events: readonly NamedEvent[]): void {
    this.#insert(events);
    this.count += events.length;
  }

  /** @yields those that still name the player: an erasure or a prune may have come between. */
  *read(player: string, damage: Damage): Generator<readonly ReadEvent[]> {
    makeOrder(this.#db);
    this.#db.exec('INSERT INTO temp.ordered (seq) SELECT seq FROM temp.of_player ORDER BY eot_ns, seq');
    for (const { events } of readOrdered(this.#db, damage))
      yield events.filter(({ payload }) => playerOf(payload) === player);
  }
}

/** A line of `courtd player list`. */
interface PlayerLine {
  readonly player_id: string;
  readonly sessions: number;
  readonly events: number;
  /** As sent. */
  readonly first_eot: string;
  readonly last_eot: string;
}

type Instant = Pick<DecodedEvent, 'eot' | 'eotHigh' | 'eotLow'>;

interface Tally {
  readonly sessions: Set<string>;
  events: number;
  first: Instant;
  last: Instant;
}

/** Counts events by player. */
export class PlayerCounts {
  readonly #tallies = new Map<string, Tally>();

  /** @param events in the order of arrival. */
  add(events: readonly NamedEvent[]): void {
    for (const { player, sessionId, eot, eotHigh, eotLow } of events) {
      const at = { eot, eotHigh, eotLow };
      const tally = this.#tallies.get(player) ?? this.#begin(player, at);
      tally.events++;
      tally.sessions.add(sessionId);
      if (byEot(at, tally.first) < 0) tally.first = at;
      if (byEot(at, tally.last) >= 0) tally.last = at;
    }
  }

  /** @returns the players, the one with the latest event first. */
  players(): PlayerLine[] {
    return [...this.#tallies]
      .sort(([one, a], [other, b]) => byEot(b.last, a.last) || (one < other ? -1 : 1))
      .map(([player_id, { sessions, events, first, last }]) => ({
        player_id,
        sessions: sessions.size,
        events,
        first_eot: first.eot,
        last_eot: last.eot,
      }));
  }

  #begin(player: string, at: Instant): Tally {
    const tally = { sessions: new Set<string>(), events: 0, first: at, last: at };
    // A copy: a part of a text keeps all of it in memory, which is the payload here.
    this.#tallies.set(Buffer.from(player).toString(), tally);
    return tally;
  }
}

function byEot(a: Instant, b: Instant): number {
  return a.eotHigh - b.eotHigh || a.eotLow - b.eotLow;
}
