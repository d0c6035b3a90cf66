import { NS_PER_MS } from '../../base/units.ts';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { mentions, redact } from '../../protocol/playerRedaction.ts';
import { type Erasure, keyedHash } from './ledger.ts';

interface Redactable extends Pick<CourtEvent, 'payload' | 'extra' | 'type' | 'eotNs' | 'sessionId'> {
  /** When a stored one was received, in milliseconds since 1970-01-01T00:00:00Z. */
  readonly receivedMs?: number;
}

const ERASED_NAME = /^erased-[0-9a-f]{8}$/;

/** Whether it is what an erasure has put in the place of a player. */
export function isErasedName(name: string): boolean {
  return ERASED_NAME.test(name);
}

/** Takes the players of a ledger out of events. */
export class Redactor {
  readonly #keys: readonly Buffer[];
  /** By the hash of the player, as a text. */
  readonly #erasures: ReadonlyMap<string, Erasure>;
  /** No event from then on names an erased player: nanoseconds since 1970-01-01T00:00:00Z; before all time: nobody is erased. */
  readonly #untilNs: bigint;

  constructor(ledger: readonly Erasure[]) {
    this.#keys = [...new Map(ledger.map(({ key }) => [key.toString('latin1'), key])).values()];
    this.#erasures = new Map(ledger.map((erasure) => [erasure.player.toString('latin1'), erasure]));
    this.#untilNs = ledger.reduce((ns, { beforeNs }) => (beforeNs > ns ? beforeNs : ns), -(2n ** 63n));
  }

  /** @returns undefined if nobody of that id is in the ledger. */
  find(player: string): Erasure | undefined {
    const found = this.#keys.map((key) => this.#erasures.get(keyedHash(key, player).toString('latin1')));
    return found.find((erasure) => erasure !== undefined);
  }

  /** @returns the event itself if it names nobody who was erased. A player has another name in each session, and always the same there. */
  redact<Event extends Redactable>(event: Event): Event {
    const { eotNs, receivedMs, sessionId } = event;
    // A camera's clock may be years ahead: the event cannot have happened later than its receipt.
    const receivedNs = receivedMs === undefined ? eotNs : BigInt(receivedMs) * NS_PER_MS;
    const happenedNs = receivedNs < eotNs ? receivedNs : eotNs;
    // Cameras send events of now: these cost nothing.
    if (happenedNs >= this.#untilNs) return event;
    const left = redact(event, (player) => {
      const erasure = this.find(player);
      if (erasure === undefined || happenedNs >= erasure.beforeNs) return undefined;
      return `erased-${keyedHash(erasure.key, 'erased', sessionId, player).toString('hex').slice(0, 8)}`;
    });
    return left === undefined ? event : { ...event, ...left, erased: true };
  }

  /** @returns whether a text names one of them, whenever that was. @param text JSON, or a rejected body that is not JSON. */
  names(text: string): boolean {
    return mentions(text, (value) => this.find(value) !== undefined);
  }
}
