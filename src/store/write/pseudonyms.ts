import type { Arrival } from '../../protocol/courtEvent.ts';
import { playerOf, playersNamed, renamePlayers } from '../../protocol/playerRedaction.ts';
import { isErasedName, pseudonymOf } from './ledger.ts';

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
      for (const player of [...playersNamed(payload), ...playersNamed(extra ?? '')])
        if (!this.#names.has(player) && !(erased && isErasedName(player)))
          this.#names.set(player, pseudonymOf(this.#secret, player));
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
      const player = playerOf(renamed.payload);
      const payload = player === undefined ? '{}' : JSON.stringify({ player_id: player });
      return { ...event, payload, extra: null };
    });
  }
}
