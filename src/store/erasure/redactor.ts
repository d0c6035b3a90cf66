import { randomInt } from 'node:crypto';
import type { Database, Statement } from 'better-sqlite3';
import type { CourtEvent } from '../../protocol/event.ts';
import { redact } from '../../protocol/redaction.ts';
import { ErasedPlayers, type Erasure, readErasures } from './ledger.ts';

const NAME_CHARS = 8;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Names that are remembered, of players and sessions. */
const NAMES_KEPT = 10_000;

/** @returns a name that nothing derives: not from the player, not from the session. */
export function randomName(prefix: string): string {
  const chars = Array.from({ length: NAME_CHARS }, () => ALPHABET[randomInt(ALPHABET.length)]);
  return prefix + chars.join('');
}

/** Takes the players of the ledger out of events. */
export class Redactor {
  readonly #ledger: () => readonly Erasure[];
  readonly #findName: Statement<[Buffer, number], string> | undefined;
  readonly #names = new Map<string, string>();
  #players = new ErasedPlayers([]);

  /** @param source whose ledger counts: that of a database, or another one. */
  constructor(source: Database | readonly Erasure[]) {
    this.#ledger = 'prepare' in source ? () => readErasures(source) : () => source;
    if ('prepare' in source) {
      this.#findName = source
        .prepare<[Buffer, number], string>('SELECT name FROM erased_name WHERE player = ? AND session = ?')
        .pluck();
    }
    this.read();
  }

  /** The ledger has changed. */
  read(): void {
    this.#players = new ErasedPlayers(this.#ledger());
  }

  /** Whether nobody is erased. */
  get isIdle(): boolean {
    return this.#players.isEmpty;
  }

  /** @param session its id, or its name. @returns the event itself where it names nobody who was erased. */
  redact<Event extends Pick<CourtEvent, 'payload' | 'extra' | 'type' | 'eotNs'>>(
    event: Event,
    session: number | string,
  ): Event {
    const left = redact(event, (player) => {
      const erasure = this.#players.find(player);
      return erasure !== undefined && event.eotNs < erasure.beforeNs
        ? this.#nameOf(erasure, session)
        : undefined;
    });
    return left === undefined ? event : { ...event, ...left, erased: true };
  }

  /** One name for a player in a session, as long as this process runs; the one that an erasure has given him, while it is not finished. */
  #nameOf({ player }: Erasure, session: number | string): string {
    const key = `${session} ${player.toString('latin1')}`;
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const name =
      (typeof session === 'number' && this.#findName?.get(player, session)) || randomName('erased-');
    if (this.#names.size >= NAMES_KEPT) this.#names.clear();
    this.#names.set(key, name);
    return name;
  }
}
