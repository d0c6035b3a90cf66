import type { Database, Statement } from 'better-sqlite3';
import type { Arrival, CourtEvent } from '../../protocol/event.ts';
import { hasWord, NOTHING, playerOf, replacePlayers } from '../../protocol/playerRedaction.ts';
import { checksumOf, type EotHalves, isIntact, nsOf, originChecksum } from '../layout/checksum.ts';
import { type PacedSteps, STEP_ROWS } from '../retention/pacedSteps.ts';
import { ErasedNames, type Redactor } from './redactor.ts';

/** What was taken out of the events. */
export interface ErasedEvents {
  /** Of which nothing is left but that they were there. */
  emptied: number;
  /** In which a player has another name. */
  renamed: number;
  sessions: number;
}

/** How far an erasure is, and what it has done so far: one that is ended goes on from here. */
export class ErasureTally {
  /** Of the events up to this seq nothing is left to do. */
  upTo = 0;
  emptied = 0;
  renamed = 0;
  readonly sessions = new Set<number>();
  conflictCopies = 0;
  /** Pages whose free space was cleaned. */
  pages = 0;
  /** The latest time at which one of the events happened that he was taken out of: nanoseconds since 1970-01-01T00:00:00Z. */
  lastNs = 0n;
  /** What to look for in the bytes of files: ids, and the names in identities. */
  readonly needles = new Set<string>();
}

/** Of an event: its names are null where they are missing. */
export type EventRow = Omit<Arrival, 'type' | 'erased'> &
  EotHalves & {
    readonly session: number;
    readonly type: Arrival['type'] | null;
    readonly checksum: number;
    readonly erased: 1 | null;
  };

/**
 * Selects EventRows; append a WHERE clause, with `+?` for a parameter: SQLite plans a join anew for each value that is bound to a bare
 * one, since the value may change the plan (its option STAT4). That takes five times as long as the row itself.
 */
export const SELECT_EVENT = `
  SELECT e.session, e.seq, s.name AS sessionId, e.event_id AS eventId, e.revision, e.eot, e.eot_ns >> 32 AS eotHigh,
         e.eot_ns & 4294967295 AS eotLow, o.type, o.court AS courtId, o.venue AS venueId, e.confidence, o.source,
         o.schema_version AS schemaVersion, e.received_ms AS receivedMs, e.checksum, e.payload, e.extra, e.erased
    FROM event e LEFT JOIN session s ON s.id = e.session LEFT JOIN origin o ON o.id = e.origin`;

/** Takes the players of a redactor out of all events that are stored now, in steps of the writer. */
export class EventEraser {
  readonly #db: Database;
  readonly #steps: PacedSteps;
  readonly #redactor: Redactor;
  readonly #tally: ErasureTally;
  readonly #update: Statement<[string, string | null, number, number]>;
  readonly #names: ErasedNames;

  constructor(db: Database, steps: PacedSteps, redactor: Redactor, tally: ErasureTally) {
    this.#db = db;
    this.#steps = steps;
    this.#redactor = redactor;
    this.#tally = tally;
    this.#names = new ErasedNames(db, true);
    for (const needle of this.#names.needles()) tally.needles.add(needle);
    this.#update = db.prepare(
      'UPDATE event SET payload = ?, extra = ?, checksum = ?, erased = 1 WHERE seq = ?',
    );
  }

  /**
   * @param player the only one, where he is known: rows that cannot name him are not parsed.
   * @param told is called with how many events were looked at.
   */
  async run(player: string | undefined, told: (done: number) => void): Promise<void> {
    const row = this.#db.prepare<[number], EventRow>(SELECT_ROW);
    const tally = this.#tally;
    let [looked, at] = [0, tally.upTo];
    // A commit waits for the disk, as those of requests do: so one takes all that it may, of however many chunks.
    let found: number[] = [];
    const eraseFound = async () => {
      await this.#steps.runAll(found, STEP_ROWS, (some) => {
        const erased: (() => void)[] = [];
        // One by one: the list ends when the time of the step is over.
        for (const seq of some) erased.push(this.#erase(row.get(seq)));
        return () => {
          for (const count of erased) count();
        };
      });
      found = [];
      tally.upTo = at;
    };
    for await (const { seqs, rows, upTo } of this.#steps.paced(candidates(this.#db, player, at))) {
      looked += rows;
      at = upTo;
      found.push(...seqs);
      if (found.length >= STEP_ROWS) await eraseFound();
      told(looked);
    }
    await eraseFound();
  }

  /** @returns what counts it, once that is committed. */
  #erase(row: EventRow | undefined): () => void {
    const taken = row && takenOut(row, this.#redactor);
    if (taken === undefined) return () => {};
    const { event, left, checksum, players } = taken;
    this.#update.run(left.payload, left.extra, checksum, event.seq);
    const tally = this.#tally;
    const own = playerOf(event.payload);
    const isHis = own !== undefined && players.has(own);
    const needles = isHis && event.type === 'PLAYER_IDENTITY' ? [...namesIn(event.payload)] : [];
    for (const needle of needles) {
      // What is ended here is gone on with by somebody who no longer finds it in an event.
      if (!tally.needles.has(needle)) this.#names.keepNeedle(this.#redactor.hashOf(own!), needle);
    }
    return () => {
      tally.sessions.add(row!.session);
      if (isEmpty(left)) tally.emptied++;
      else tally.renamed++;
      for (const needle of [...players, ...needles]) tally.needles.add(needle);
      if (event.eotNs > tally.lastNs) tally.lastNs = event.eotNs;
    };
  }
}

/** What an erasure would do to events. */
interface CountedEvents extends ErasedEvents {
  /** In which his id is also a part of a longer text: that stays. */
  readonly mentioned: number;
  /** Of those that would be changed, how many name him in `payload.player_id`: the others hold his id in another field. */
  readonly own: number;
  /** That name him, and happened too late to be erased. */
  readonly later: number;
  readonly looked: number;
}

/**
 * The same by somebody who only reads: in chunks, with nothing kept between them.
 * @param redactor takes the player out, whenever that was. @param beforeNs what happened from then on is not erased.
 */
export function* countErasure(
  db: Database,
  redactor: Redactor,
  player: string,
  beforeNs: bigint,
): Generator<CountedEvents> {
  const row = db.prepare<[number], EventRow>(SELECT_ROW);
  const withoutHim = (text: string) => replacePlayers(text, (value) => (value === player ? '' : undefined));
  const isPart = ({ eventId, payload, extra }: Pick<CourtEvent, 'eventId' | 'payload' | 'extra'>) =>
    hasWord(`${eventId} ${withoutHim(payload)} ${withoutHim(extra ?? '')}`, player);
  const count = { emptied: 0, renamed: 0, sessions: 0, mentioned: 0, own: 0, later: 0, looked: 0 };
  const sessions = new Set<number>();
  for (const { seqs, rows } of candidates(db, player)) {
    for (const seq of seqs) {
      const found = row.get(seq);
      if (found === undefined) continue;
      const taken = takenOut(found, redactor);
      const isLater = taken !== undefined && taken.event.eotNs >= beforeNs;
      if (isPart({ ...found, ...(!isLater && taken?.left) })) count.mentioned++;
      if (isLater) count.later++;
      if (taken === undefined || isLater) continue;
      sessions.add(found.session);
      if (playerOf(taken.event.payload) === player) count.own++;
      count[isEmpty(taken.left) ? 'emptied' : 'renamed']++;
    }
    count.looked += rows;
    count.sessions = sessions.size;
    yield count;
  }
}

/** Rows that one query looks at, without more of them than SQLite needs: 0.3 ms. */
const READ_ROWS = 500;
const SELECT_ROW = `${SELECT_EVENT} WHERE e.seq = +?`;

/** @returns the event of a row, and what is left of it without the players of a redactor; undefined where it names none. */
function takenOut(row: EventRow, redactor: Redactor) {
  const { type, eotHigh, eotLow, erased, session, ...rest } = row;
  const event = {
    ...rest,
    eotNs: nsOf(eotHigh, eotLow),
    type: type ?? 'PLAYER_POSITION',
    ...(erased === 1 && { erased: true }),
  };
  const names = originChecksum(event);
  const isSound = type !== null && isIntact({ ...event, eotHigh, eotLow }, names, row.checksum);
  const players = new Set<string>();
  const redacted = redactor.redact(event, session, (player) => players.add(player));
  if (redacted === event) return undefined;
  const left = isSound ? redacted : { ...redacted, ...NOTHING };
  // A damaged event stays one that is damaged.
  const checksum = isSound ? checksumOf(left, rest, names) : row.checksum;
  return { event, left, checksum, players };
}

const isEmpty = ({ payload }: Pick<CourtEvent, 'payload'>) => payload === NOTHING.payload;

/** What an identity calls its player: text members such as `name` and `display_name`. */
function* namesIn(payload: string): Generator<string> {
  for (const [member, value] of Object.entries(JSON.parse(payload)))
    if (/name/i.test(member) && typeof value === 'string' && value.length > 2) yield value;
}

/**
 * @yields the seqs of events that may name a player, some at a time, and how many rows were looked at. A text with a backslash may
 * name him in another spelling. @param after the seq before the first of them.
 */
function* candidates(
  db: Database,
  player: string | undefined,
  after = 0,
): Generator<{ readonly seqs: number[]; readonly rows: number; readonly upTo: number }> {
  const isNamed = (column: string) => `instr(${column}, @player) > 0 OR instr(${column}, char(92)) > 0`;
  // As one row: a row for each event is garbage, and collecting that holds up requests.
  type Read = { readonly rows: number; readonly upTo: number; readonly seqs: string };
  const read = db.prepare<[{ after: number; player: string | null }], Read>(`
    SELECT count(*) AS rows, max(seq) AS upTo, json_group_array(seq) FILTER (WHERE isOne) AS seqs
      FROM (SELECT seq, @player IS NULL OR ${isNamed('payload')} OR ifnull(${isNamed('extra')}, 0) OR
                        instr(event_id, @player) > 0 AS isOne
              FROM event WHERE seq > @after ORDER BY seq LIMIT ${READ_ROWS})`);
  // What comes later is redacted on its way in.
  const last = db.prepare<[], number>('SELECT max(seq) FROM event').pluck().get() ?? 0;
  for (let upTo = after; upTo < last; ) {
    const some = read.get({ after: upTo, player: player ?? null })!;
    if (some.rows === 0) return;
    upTo = some.upTo;
    yield { ...some, seqs: JSON.parse(some.seqs) };
  }
}
