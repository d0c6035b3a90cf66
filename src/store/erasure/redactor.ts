import { randomInt } from 'node:crypto';
import type { Database, Statement } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/event.ts';
import { mentions, redact } from '../../protocol/playerRedaction.ts';
import { ErasedPlayers, type Erasure } from './ledger.ts';

const RANDOM_CHARS = 8;
const ERASED_NAME = new RegExp(`^erased-[a-z0-9]{${RANDOM_CHARS}}$`);
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Names that are remembered, of players and sessions. */
const NAMES_KEPT = 10_000;

/** @returns a name that nothing derives: not from the player, not from the session. */
export function randomName(prefix: string): string {
  const chars = Array.from({ length: RANDOM_CHARS }, () => ALPHABET[randomInt(ALPHABET.length)]);
  return prefix + chars.join('');
}

/** Whether it is what an erasure has put in the place of a player. */
export function isErasedName(name: string): boolean {
  return ERASED_NAME.test(name);
}

/**
 * Where the names of an erasure that is not finished are kept: one player has one name in a session, whenever it is ended. And what
 * to look for in bytes, under sessions that are none: below 0.
 */
export class ErasedNames {
  readonly #db: Database;
  readonly #find: Statement<[Buffer, number], string>;
  readonly #put: Statement<[Buffer, number, string]> | undefined;

  /** @param keeps whether new names are stored, too: in the transaction of the caller. */
  constructor(db: Database, keeps: boolean) {
    this.#db = db;
    this.#find = db
      .prepare<[Buffer, number], string>('SELECT name FROM erased_name WHERE player = ? AND session = ?')
      .pluck();
    if (keeps) this.#put = db.prepare('INSERT INTO erased_name VALUES (?, ?, ?)');
  }

  /** @param made what he is called from now on, where he has no name yet, or the disk has changed it to what is none. */
  nameOf(player: Buffer, session: number, made: string): string {
    const known = this.#find.get(player, session);
    if (known === undefined) this.#put?.run(player, session, made);
    return known !== undefined && isErasedName(known) ? known : made;
  }

  /** @returns what is kept, of all erasures that are not finished. */
  needles(): string[] {
    return this.#db.prepare<[], string>('SELECT name FROM erased_name WHERE session < 0').pluck().all();
  }

  /** Call it inside a transaction. */
  keepNeedle(player: Buffer, needle: string): void {
    const lowest = this.#db
      .prepare<[Buffer], number>(
        'SELECT ifnull(min(session), 0) FROM erased_name WHERE player = ? AND session < 0',
      )
      .pluck();
    this.#put?.run(player, lowest.get(player)! - 1, needle);
  }
}

/** Takes the players of a ledger out of events. */
export class Redactor {
  readonly #stored: ErasedNames | undefined;
  readonly #names = new Map<string, string>();
  #players = new ErasedPlayers([]);

  constructor(ledger: readonly Erasure[], stored?: ErasedNames) {
    this.#stored = stored;
    this.use(ledger);
  }

  /** From now on this is the ledger. */
  use(ledger: readonly Erasure[]): void {
    this.#players = new ErasedPlayers(ledger);
  }

  /**
   * @param session its id, or its name.
   * @param onFound is called with each player who is taken out, once or more.
   * @returns the event itself where it names nobody who was erased.
   */
  redact<Event extends Pick<CourtEvent, 'payload' | 'extra' | 'type' | 'eotNs'>>(
    event: Event,
    session: number | string,
    onFound: (player: string) => void = () => {},
  ): Event {
    // What cameras send is of now: it costs nothing.
    if (event.eotNs >= this.#players.untilNs) return event;
    const left = redact(event, (player) => {
      const erasure = this.#players.find(player);
      if (erasure === undefined || event.eotNs >= erasure.beforeNs) return undefined;
      onFound(player);
      return this.#nameOf(erasure, session);
    });
    return left === undefined ? event : { ...event, ...left, erased: true };
  }

  /** @param player one of them. */
  hashOf(player: string): Buffer {
    return this.#players.find(player)!.player;
  }

  isErased(player: string): boolean {
    return this.#players.find(player) !== undefined;
  }

  /** @returns whether a text names one of them, whenever that was. @param text JSON, or what was refused because it is none. */
  names(text: string): boolean {
    return mentions(text, (value) => this.isErased(value));
  }

  #nameOf({ player }: Erasure, session: number | string): string {
    const key = `${session} ${player.toString('latin1')}`;
    const made = this.#names.get(key) ?? randomName('erased-');
    const name = typeof session === 'number' ? (this.#stored?.nameOf(player, session, made) ?? made) : made;
    if (this.#names.size >= NAMES_KEPT) this.#names.clear();
    this.#names.set(key, name);
    return name;
  }
}
