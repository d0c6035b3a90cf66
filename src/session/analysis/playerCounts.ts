import type { CourtEvent } from '../../protocol/courtEvent.ts';
import type { NamedEvent } from '../../store/read/namedPlayers.ts';
import { isErasedName } from '../../store/write/redactor.ts';

/** Counts events by player. */
export class PlayerCounts {
  readonly #players = new Map<string, PlayerCount>();

  /** @param events in the order of arrival. */
  add(events: readonly NamedEvent[]): void {
    for (const { player, sessionId, eot, eotDigits, erased } of events) {
      // The name that an erasure has put in the place of a player is no player.
      if (erased && isErasedName(player)) continue;
      const instant = { eot, eotNs: BigInt(eotDigits) };
      const added: PlayerCount = { sessions: new Set(), events: 0, first: instant, last: instant };
      const known = this.#players.get(player) ?? added;
      this.#players.set(player, known);
      known.sessions.add(sessionId);
      known.events++;
      if (instant.eotNs < known.first.eotNs) known.first = instant;
      if (instant.eotNs >= known.last.eotNs) known.last = instant;
    }
  }

  /** @returns the lines of `courtd player list`, the player with the latest event first; eots as sent. */
  players() {
    const lines = [...this.#players].sort(
      ([one, a], [other, b]) => Number(b.last.eotNs - a.last.eotNs) || (one < other ? -1 : 1),
    );
    return lines.map(([player_id, { sessions, events, first, last }]) => ({
      player_id,
      sessions: sessions.size,
      events,
      first_eot: first.eot,
      last_eot: last.eot,
    }));
  }
}

type Instant = Pick<CourtEvent, 'eot' | 'eotNs'>;
type PlayerCount = { readonly sessions: Set<string>; events: number; first: Instant; last: Instant };
