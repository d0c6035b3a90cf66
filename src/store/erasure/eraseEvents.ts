import type { Database, Statement } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/event.ts';
import { NOTHING, playerOf } from '../../protocol/redaction.ts';
import { checksumOf, isIntact, nsOf, originChecksum } from '../layout/checksum.ts';
import { type EventRow, SELECT_EVENT } from '../layout/storedEvent.ts';
import { PRUNE_READ_ROWS, PRUNE_STEP_ROWS, type PruneSteps } from '../retention/pruneSteps.ts';
import type { Redactor } from './redactor.ts';

/** What was taken out of the events. */
export interface ErasedEvents {
  /** Of which nothing is left but that they were there. */
  readonly emptied: number;
  /** In which a player has another name. */
  readonly renamed: number;
  readonly sessions: number;
}

/** How far an erasure is, which may be ended and continued by the same process. */
export class ErasureTally {
  /** Every event up to this seq has been looked at. */
  upTo = 0;
  emptied = 0;
  renamed = 0;
  readonly sessions = new Set<number>();
  /** The latest time at which an event of a player's own happened: nanoseconds since 1970-01-01T00:00:00Z. */
  lastNs = 0n;
  /** What to look for in the bytes of files: ids, and the names in identities. */
  readonly needles = new Set<string>();

  get erased(): ErasedEvents {
    return { emptied: this.emptied, renamed: this.renamed, sessions: this.sessions.size };
  }
}

type Row = EventRow & { readonly session: number };

/** Takes the players of a redactor out of all events that are stored now, in steps of the writer. */
export class EventEraser {
  readonly #db: Database;
  readonly #steps: PruneSteps;
  readonly #redactor: Redactor;
  readonly #update: Statement<[string, string | null, number, number]>;
  readonly #tally: ErasureTally;

  constructor(db: Database, steps: PruneSteps, redactor: Redactor, tally: ErasureTally) {
    this.#tally = tally;
    this.#db = db;
    this.#steps = steps;
    this.#redactor = redactor;
    this.#update = db.prepare(
      'UPDATE event SET payload = ?, extra = ?, checksum = ?, erased = 1 WHERE seq = ?',
    );
  }

  /**
   * @param player the only one, where he is known: rows that cannot name him are not parsed.
   * @param told is called with how many events were looked at.
   */
  async run(player: string | undefined, told: (done: number) => void): Promise<void> {
    const row = this.#db.prepare<[number], Row>(SELECT_ROW);
    let looked = 0;
    for await (const { seqs, rows, upTo } of this.#steps.paced(
      candidates(this.#db, player, this.#tally.upTo),
    )) {
      looked += rows;
      await this.#steps.runAll(seqs, PRUNE_STEP_ROWS, (some) => {
        const erased = [...some].map((seq) => this.#erase(row.get(seq)));
        return () => {
          for (const count of erased) count();
        };
      });
      this.#tally.upTo = upTo;
      told(looked);
    }
  }

  /** @returns what counts it, once that is committed. */
  #erase(row: Row | undefined): () => void {
    const taken = row && takenOut(row, this.#redactor);
    if (taken === undefined) return () => {};
    const { event, left, checksum, players } = taken;
    this.#update.run(left.payload, left.extra, checksum, event.seq);
    return () => {
      const tally = this.#tally;
      tally.sessions.add(row!.session);
      if (isEmpty(left)) tally.emptied++;
      else tally.renamed++;
      for (const player of players) tally.needles.add(player);
      const own = playerOf(event.payload);
      if (own === undefined || !players.has(own)) return;
      if (event.eotNs > tally.lastNs) tally.lastNs = event.eotNs;
      if (event.type === 'PLAYER_IDENTITY')
        for (const name of namesIn(event.payload)) tally.needles.add(name);
    };
  }
}

/** What an erasure would do, by somebody who only reads: in chunks, with nothing kept between them. */
export function* countErasure(
  db: Database,
  redactor: Redactor,
  player: string,
): Generator<ErasedEvents & { readonly looked: number }> {
  const row = db.prepare<[number], Row>(SELECT_ROW);
  const count = { emptied: 0, renamed: 0, sessions: 0, looked: 0 };
  const sessions = new Set<number>();
  for (const { seqs, rows } of candidates(db, player)) {
    for (const seq of seqs) {
      const found = row.get(seq);
      const taken = found && takenOut(found, redactor);
      if (taken === undefined) continue;
      sessions.add(found!.session);
      count[isEmpty(taken.left) ? 'emptied' : 'renamed']++;
    }
    count.looked += rows;
    count.sessions = sessions.size;
    yield count;
  }
}

const SELECT_ROW = `${SELECT_EVENT.replace('SELECT', 'SELECT e.session,')} WHERE e.seq = ?`;

/** @returns the event of a row, and what is left of it without the players of a redactor; undefined where it names none. */
function takenOut(row: Row, redactor: Redactor) {
  const { type, eotHigh, eotLow, seqStep, erased, session, ...rest } = row;
  const event = {
    ...rest,
    eotNs: nsOf(eotHigh, eotLow),
    type: type ?? 'PLAYER_POSITION',
    ...(erased === 1 && { erased: true }),
  };
  const names = originChecksum(event);
  const isSound = type !== null && isIntact({ ...event, eotHigh, eotLow, seqStep }, names, row.checksum);
  const players = new Set<string>();
  const redacted = redactor.redact(event, session, (player) => players.add(player));
  if (redacted === event) return undefined;
  const left = isSound ? redacted : { ...redacted, ...NOTHING };
  // A damaged event stays one that is damaged.
  const checksum = isSound ? checksumOf(left, { ...rest, seqStep }, names) : row.checksum;
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
 * name him in another spelling.
 */
export function* candidates(
  db: Database,
  player: string | undefined,
  from = 0,
): Generator<{ readonly seqs: number[]; readonly rows: number; readonly upTo: number }> {
  const isNamed = (column: string) => `instr(${column}, @player) > 0 OR instr(${column}, char(92)) > 0`;
  const rows = db.prepare<[{ after: number; player: string | null }], [seq: number, isOne: 0 | 1]>(`
    SELECT seq, @player IS NULL OR ${isNamed('payload')} OR ifnull(${isNamed('extra')}, 0)
      FROM event WHERE seq > @after ORDER BY seq LIMIT ${PRUNE_READ_ROWS}`);
  rows.raw();
  // What comes later is redacted on its way in.
  const last = db.prepare<[], number>('SELECT max(seq) FROM event').pluck().get() ?? 0;
  for (let after = from; after < last; ) {
    const some = rows.all({ after, player: player ?? null });
    if (some.length === 0) return;
    after = some.at(-1)![0];
    yield {
      seqs: some.filter(([, isOne]) => isOne === 1).map(([seq]) => seq),
      rows: some.length,
      upTo: after,
    };
  }
}
