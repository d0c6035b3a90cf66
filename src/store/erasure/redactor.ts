import type { CourtEvent } from '../../protocol/event.ts';
import { mentions, redact } from '../../protocol/playerRedaction.ts';
import { ErasedPlayers, type Erasure, erasedName } from './ledger.ts';

/** Takes the players of a ledger out of events. */
export class Redactor {
  #players = new ErasedPlayers([]);

  constructor(ledger: readonly Erasure[]) {
    this.use(ledger);
  }

  /** From now on this is the ledger. */
  use(ledger: readonly Erasure[]): void {
    this.#players = new ErasedPlayers(ledger);
  }

  /** @returns the event itself if it names nobody who was erased. */
  redact<Event extends Pick<CourtEvent, 'payload' | 'extra' | 'type' | 'eotNs' | 'sessionId'>>(
    event: Event,
  ): Event {
    // What cameras send is of now: it costs nothing.
    if (event.eotNs >= this.#players.untilNs) return event;
    const left = redact(event, (player) => {
      const erasure = this.#players.find(player);
      if (erasure === undefined || event.eotNs >= erasure.beforeNs) return undefined;
      return erasedName(erasure, event.sessionId, player);
    });
    return left === undefined ? event : { ...event, ...left, erased: true };
  }

  /** @returns whether a text names one of them, whenever that was. @param text JSON, or what was rejected because it is none. */
  names(text: string): boolean {
    return mentions(text, (value) => this.#players.find(value) !== undefined);
  }
}
