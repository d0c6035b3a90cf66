import type { Database } from 'better-sqlite3';
import { playerOf } from '../../protocol/playerRedaction.ts';
import { nsOf } from '../layout/checksum.ts';
import { type ReadArrivals, readArrivals } from './arrivalReader.ts';
import type { DecodedEvent } from './arrivalRow.ts';
import type { Damage } from './damage.ts';
import { makeOrder, type ReadEvent, readOrdered } from './sessionReader.ts';

/** Tallies kept in memory, and the characters of their names: a player's may be as long as a body. */
const TALLIES = 100_000;
const TALLIED_CHARS = 8_000_000;
/** Lines that one batch of a list has. */
const LISTED = 1_000;

/** An event that names a player in `payload.player_id`. */
export type NamedEvent = DecodedEvent & { readonly player: string };

/** Some events of a box, in the order of arrival. */
interface NamedChunk extends ReadArrivals {
  readonly events: readonly NamedEvent[];
}

/**
 * Reads every event once, in short transactions: no index of players is kept, which would cost ingest (../../ARCHITECTURE.md#players).
 * @param damage takes the damaged events, which are left out.
 */
export function* readNamed(db: Database, damage: Damage): Generator<NamedChunk> {
  for (const { events, ...read } of readArrivals(db, damage)) {
    const named: NamedEvent[] = [];
    for (const event of events) {
      const player = event.seq > read.lastSeq ? undefined : playerOf(event.payload);
      if (player !== undefined) named.push({ ...event, player });
    }
    yield { events: named, ...read };
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

/** What both lists have of their events. */
interface Counted {
  readonly events: number;
  /** As sent. */
  readonly first_eot: string;
  readonly last_eot: string;
}

/** A line of `courtd player list`. */
interface PlayerLine extends Counted {
  readonly player_id: string;
  readonly sessions: number;
}

type Instant = Pick<DecodedEvent, 'eot' | 'eotHigh' | 'eotLow'>;

interface Tally {
  readonly player: string;
  readonly session: string;
  readonly type: string;
  events: number;
  first: Instant;
  last: Instant;
}

/** Counts events by player, session and type: a few in memory, all in a temporary table, which SQLite keeps in a file of its own. */
export class PlayerCounts {
  readonly #db: Database;
  readonly #some = new Map<string, Tally>();
  #chars = 0;
  readonly #put: (tallies: Iterable<Tally>) => void;

  /** @param db a connection of its own: creates a temporary table in it. */
  constructor(db: Database) {
    this.#db = db;
    db.exec(`
      CREATE TEMP TABLE named (player_id TEXT, session_id TEXT, type TEXT, events INTEGER, first_ns INTEGER, first_eot TEXT,
        last_ns INTEGER, last_eot TEXT, PRIMARY KEY (player_id, session_id, type)) WITHOUT ROWID`);
    const put = db.prepare(`
      INSERT INTO temp.named VALUES (@player, @session, @type, @events, @firstNs, @firstEot, @lastNs, @lastEot)
      ON CONFLICT DO UPDATE SET events = events + excluded.events,
        first_ns = min(first_ns, excluded.first_ns), first_eot = iif(excluded.first_ns < first_ns, excluded.first_eot, first_eot),
        last_ns = max(last_ns, excluded.last_ns), last_eot = iif(excluded.last_ns >= last_ns, excluded.last_eot, last_eot)`);
    this.#put = db.transaction((tallies: Iterable<Tally>) => {
      for (const { first, last, ...tally } of tallies) {
        const firstNs = nsOf(first.eotHigh, first.eotLow);
        const lastNs = nsOf(last.eotHigh, last.eotLow);
        put.run({ ...tally, firstNs, firstEot: first.eot, lastNs, lastEot: last.eot });
      }
    });
  }

  /** @param events in the order of arrival. */
  add(events: readonly NamedEvent[]): void {
    for (const { player, sessionId: session, type, eot, eotHigh, eotLow } of events) {
      const at = { eot, eotHigh, eotLow };
      const key = `${session}\n${type}\n${player}`;
      const tally = this.#some.get(key);
      if (tally !== undefined) {
        tally.events++;
        if (isBefore(at, tally.first)) tally.first = at;
        if (!isBefore(at, tally.last)) tally.last = at;
        continue;
      }
      // A copy: a part of a text keeps the whole text in memory, which is the payload here.
      const name = Buffer.from(player).toString();
      this.#some.set(key, { player: name, session, type, events: 1, first: at, last: at });
      this.#chars += key.length;
      if (this.#some.size >= TALLIES || this.#chars >= TALLIED_CHARS) this.#flush();
    }
  }

  /**
   * @param last how many players; absent: all.
   * @yields them in batches, the one with the latest event first.
   */
  *players(last = Number.MAX_SAFE_INTEGER): Generator<readonly PlayerLine[]> {
    this.#flush();
    const lines = this.#db.prepare<[number], PlayerLine>(`
      SELECT player_id, sessions, events, ${edgesOf('player_id')}
        FROM (SELECT player_id, count(DISTINCT session_id) AS sessions, sum(events) AS events, max(last_ns) AS last_ns
                FROM temp.named GROUP BY player_id) AS g
       ORDER BY last_ns DESC, player_id LIMIT ?`);
    let batch: PlayerLine[] = [];
    for (const line of lines.iterate(last)) {
      if (batch.push(line) < LISTED) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }

  #flush(): void {
    this.#put(this.#some.values());
    this.#some.clear();
    this.#chars = 0;
  }
}

/** By eot. */
function isBefore(a: Instant, b: Instant): boolean {
  return a.eotHigh === b.eotHigh ? a.eotLow < b.eotLow : a.eotHigh < b.eotHigh;
}

/** @param keys the first ones of the table's key. @returns SQL for the first and the last eot of the group `g`, as sent. */
function edgesOf(...keys: readonly string[]): string {
  const same = keys.map((key) => `n.${key} = g.${key}`).join(' AND ');
  const edge = (eot: string, order: string) =>
    `(SELECT ${eot} FROM temp.named n WHERE ${same} ORDER BY ${order} LIMIT 1) AS ${eot}`;
  return `${edge('first_eot', 'first_ns')}, ${edge('last_eot', 'last_ns DESC')}`;
}
