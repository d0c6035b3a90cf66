import type { Payload } from './payload.ts';

/** A longer flight means that the camera has lost the ball. */
const FLIGHT_MS = 10_000;
/** Bounces of one eot that are held back, and courts whose last hit is remembered: whatever a camera sends, memory is bounded. */
const HELD_MAX = 10_000;
const COURTS_MAX = 1_000;

/** A hit, or the bounce that belongs to it. */
export interface BallEvent {
  readonly type: 'BALL_BOUNCE' | 'BALL_HIT';
  readonly courtId: string;
  readonly eventId: string;
  readonly revision: number;
  readonly eotMs: number;
  readonly payload: Payload;
}

interface Hit {
  readonly eotMs: number;
  readonly shotType: string | undefined;
  hasLanded: boolean;
}

/**
 * Finds the shot type of a landing: its own, or else that of the last hit on its court, up to ten seconds before. A hit lands once;
 * further bounces have no shot type. At the same eot the hit comes first, whatever the order of arrival.
 */
export class Rallies {
  readonly #tell: (bounce: BallEvent, shotType: string | undefined) => void;
  readonly #lastHits = new Map<string, Hit>();
  #held: BallEvent[] = [];
  #heldMs: number | undefined;

  /** @param tell is called for every bounce. */
  constructor(tell: (bounce: BallEvent, shotType: string | undefined) => void) {
    this.#tell = tell;
  }

  /** @param event not earlier than the one before. */
  add(event: BallEvent): void {
    if (event.eotMs !== this.#heldMs || this.#held.length >= HELD_MAX) this.flush();
    this.#heldMs = event.eotMs;
    if (event.type === 'BALL_HIT') this.#noteHit(event);
    else this.#held.push(event);
  }

  /** After the last event. */
  flush(): void {
    for (const bounce of this.#held) this.#tell(bounce, this.#shotOf(bounce));
    this.#held = [];
  }

  #noteHit({ courtId, eotMs, payload }: BallEvent): void {
    if (this.#lastHits.size >= COURTS_MAX) this.#lastHits.clear();
    this.#lastHits.set(courtId, { eotMs, shotType: payload.shotType, hasLanded: false });
  }

  #shotOf({ courtId, eotMs, payload }: BallEvent): string | undefined {
    const hit = this.#lastHits.get(courtId);
    const isOfHit = hit !== undefined && eotMs - hit.eotMs <= FLIGHT_MS && !hit.hasLanded;
    if (isOfHit) hit.hasLanded = true;
    return payload.shotType ?? (isOfHit ? hit.shotType : undefined);
  }
}
