import type { Arrival } from '../../protocol/courtEvent.ts';
import { playerOf, playersNamed, renamePlayers } from '../../protocol/playerRedaction.ts';
import { keyedHash } from '../../store/write/ledger.ts';
import { isErasedName } from '../../store/write/redactor.ts';

/** Players who are remembered, so that an event is known to name them in another field than player_id. */
const PLAYERS_KNOWN = 100_000;

/** Events before the first that is shipped, whose players are known from the start. */
export const LEARNT_EVENTS = 20_000;

/** Names players for headquarters, which is not to know who they are: by a keyed hash, the same one in all sessions. */
export class Pseudonyms {
  readonly #secret: Buffer;
  readonly #names = new Map<string, string>();

  /** @param secret of the database. */
  constructor(secret: Buffer) {
    this.#secret = secret;
  }

  /** Learns who the players of some events are. */
  learn(events: readonly Arrival[]): void {
    if (this.#names.size > PLAYERS_KNOWN) this.#names.clear();
    for (const { payload, extra, erased } of events)
      for (const player of [...playersNamed(payload), ...playersNamed(extra ?? '{}')]) {
        if (this.#names.has(player) || (erased && isErasedName(player))) continue;
        const hash = keyedHash(this.#secret, 'player', player).toString('hex');
        this.#names.set(player, `player-${hash.slice(0, 16)}`);
      }
  }

  /**
   * @returns the events as headquarters gets them: no string of payloads and unknown members is the id of a known player, and an
   * identity has nothing but the name.
   */
  under(events: readonly Arrival[]): Arrival[] {
    this.learn(events);
    return events.map((event) => {
      const renamed = { ...event, ...renamePlayers(event, (text) => this.#names.get(text)) };
      if (event.type !== 'PLAYER_IDENTITY') return renamed;
      return { ...event, payload: JSON.stringify({ player_id: playerOf(renamed.payload) }), extra: null };
    });
  }
}
