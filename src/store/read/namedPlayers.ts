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

/** Counts events by player and session: a temporary table of the connection, which must be the caller's own. */
export class PlayerCounts {
  readonly #db: Database;
  readonly #add: (events: readonly NamedEvent[]) => void;

  constructor(db: Database) {
    this.#db = db;
    db.exec(`
      CREATE TEMP TABLE played (
        player TEXT, session TEXT, events INTEGER, first_ns INTEGER, first_eot TEXT, last_ns INTEGER, last_eot TEXT,
        PRIMARY KEY (player, session)
      ) WITHOUT ROWID`);
    const add = db.prepare<[object]>(`
      INSERT INTO temp.played VALUES (@player, @sessionId, 1, @ns, @eot, @ns, @eot)
      ON CONFLICT DO UPDATE SET events = events + 1,
        first_eot = iif(excluded.first_ns < first_ns, excluded.first_eot, first_eot),
        first_ns = min(first_ns, excluded.first_ns),
        last_eot = iif(excluded.last_ns >= last_ns, excluded.last_eot, last_eot),
        last_ns = max(last_ns, excluded.last_ns)`);
    this.#add = db.transaction((events: readonly NamedEvent[]) => {
      for (const { player, sessionId, eot, eotHigh, eotLow } of events)
        add.run({ player, sessionId, eot, ns: nsOf(eotHigh, eotLow) });
    });
  }

  /** @param events in the order of arrival. */
  add(events: readonly NamedEvent[]): void {
    this.#add(events);
  }

  /** @returns the players, the one with the latest event first. */
  players(): PlayerLine[] {
    const eot = (which: string, order: string) =>
      `(SELECT ${which}_eot FROM temp.played o WHERE o.player = p.player ORDER BY ${which}_ns ${order} LIMIT 1)`;
    const lines = this.#db.prepare<[], PlayerLine>(`
      SELECT player AS player_id, count(*) AS sessions, sum(events) AS events,
             ${eot('first', 'ASC')} AS first_eot, ${eot('last', 'DESC')} AS last_eot
        FROM temp.played p GROUP BY player ORDER BY max(last_ns) DESC, player`);
    return lines.all();
  }
}
