import { NS_PER_MS } from '../../base/units.ts';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { mentions, redact } from '../../protocol/playerRedaction.ts';
import { ErasedPlayers, type Erasure, erasedName } from './ledger.ts';

interface Redactable extends Pick<CourtEvent, 'payload' | 'extra' | 'type' | 'eotNs' | 'sessionId'> {
  /** When a stored one was received, in milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs?: number;
}

/** @returns when an event happened. A camera's clock may be years ahead: it cannot have been later than its receipt. */
function timeOf({ eotNs, receivedMs }: Redactable): bigint {
  const receivedNs = receivedMs === undefined ? eotNs : BigInt(receivedMs) * NS_PER_MS;
  return receivedNs < eotNs ? receivedNs : eotNs;
}

/** Takes the players of a ledger out of events. */
export class Redactor {
  readonly #players: ErasedPlayers;

  constructor(ledger: readonly Erasure[]) {
    this.#players = new ErasedPlayers(ledger);
  }

  /** @returns the event itself if it names nobody who was erased. */
  redact<Event extends Redactable>(event: Event): Event {
    const happenedNs = timeOf(event);
    // Cameras send events of now: these cost nothing.
    if (happenedNs >= this.#players.untilNs) return event;
    const left = redact(event, (player) => {
      const erasure = this.#players.find(player);
      if (erasure === undefined || happenedNs >= erasure.beforeNs) return undefined;
      return erasedName(erasure, event.sessionId, player);
    });
    return left === undefined ? event : { ...event, ...left, erased: true };
  }

  /** @returns whether a text names one of them, whenever that was. @param text JSON, or a rejected body that is not JSON. */
  names(text: string): boolean {
    return mentions(text, (value) => this.#players.find(value) !== undefined);
  }
}
