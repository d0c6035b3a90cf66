import { type LineCall, verdictOf } from './places.ts';
import type { Payload } from './shotPayload.ts';

/**
 * Strokes further apart than this belong to two rallies, or the camera has lost the ball: one that flies for four seconds has been
 * 20 m high. Of the 36,000 hits of 44 badminton matches, 20 follow another after 4 to 10 s; the next rally begins later.
 */
export const FLIGHT_MS = 4_000;

/** An event of the ball. */
export interface BallEvent {
  readonly type: 'BALL_BOUNCE' | 'BALL_HIT' | 'BALL_SPEED';
  readonly courtId: string;
  readonly eotMs: number;
  readonly payload: Payload;
}

/** The player who hit the ball, and the stroke; both may be unknown. */
export type Striker = Pick<Payload, 'playerId' | 'shotType'>;

interface Hit extends Striker {
  readonly eotMs: number;
  /** How its landing was judged; undefined if it was not seen. */
  landed: LineCall | undefined;
  bounces: number;
}

export interface Rally {
  readonly startMs: number;
  hits: number;
  last: Hit;
  /** The hit before the last one. */
  before: Hit | undefined;
  /** Of its last hit or bounce. */
  lastMs: number;
}

export interface RallyListener {
  /** @param by the hit whose landing this is, unless the event names another; undefined if the ball has landed before. */
  bounce(payload: Payload, by: Striker | undefined): void;
  /** @param by the hit whose speed this is, unless the event names another. */
  speed(payload: Payload, by: Striker): void;
  /** @param rally which is over. */
  rally(rally: Rally): void;
}

const NOBODY: Striker = { playerId: undefined, shotType: undefined };

/**
 * Finds rallies, and whose landing or speed an event is: that of the last hit on its court, up to `FLIGHT_MS` before, unless it names
 * player or shot itself. A hit lands once; further bounces are no landings. At the same eot the hit comes first, whatever the order of
 * arrival. A rally is over with a landing that was out, the second bounce of a ball, `FLIGHT_MS` without hit or bounce, and, if no ball
 * is played that has landed, with any landing.
 */
export class Rallies {
  readonly #tell: RallyListener;
  readonly #endsAtLanding: boolean;
  readonly #open = new Map<string, Rally>();
  #held: BallEvent[] = [];
  #heldMs: number | undefined;

  /** @param endsAtLanding whether no ball is played that has landed, as in badminton. */
  constructor(tell: RallyListener, endsAtLanding: boolean) {
    this.#tell = tell;
    this.#endsAtLanding = endsAtLanding;
  }

  /** @param event not earlier than the one before. */
  add(event: BallEvent): void {
    if (event.eotMs !== this.#heldMs) this.#release();
    this.#heldMs = event.eotMs;
    if (event.type === 'BALL_HIT') this.#hit(event);
    else this.#held.push(event);
  }

  /** After the last event. */
  end(): void {
    this.#release();
    for (const court of this.#open.keys()) this.#close(court);
  }

  #release(): void {
    for (const event of this.#held) {
      if (event.type === 'BALL_BOUNCE') this.#bounce(event);
      else this.#speed(event);
    }
    this.#held = [];
  }

  #hit({ courtId, eotMs, payload: { playerId, shotType } }: BallEvent): void {
    const hit: Hit = { eotMs, playerId, shotType, landed: undefined, bounces: 0 };
    const open = this.#open.get(courtId);
    if (open !== undefined && !this.#isOver(open, eotMs)) {
      Object.assign(open, { hits: open.hits + 1, before: open.last, last: hit, lastMs: eotMs });
      return;
    }
    this.#close(courtId);
    this.#open.set(courtId, { startMs: eotMs, hits: 1, last: hit, before: undefined, lastMs: eotMs });
  }

  #isOver({ last: { landed, bounces }, lastMs }: Rally, eotMs: number): boolean {
    return landed === 'out' || bounces > (this.#endsAtLanding ? 0 : 1) || eotMs - lastMs > FLIGHT_MS;
  }

  #close(court: string): void {
    const open = this.#open.get(court);
    if (open !== undefined) this.#tell.rally(open);
    this.#open.delete(court);
  }

  #bounce({ courtId, eotMs, payload }: BallEvent): void {
    const open = this.#open.get(courtId);
    if (open === undefined || eotMs - open.lastMs > FLIGHT_MS) return this.#tell.bounce(payload, NOBODY);
    const { last } = open;
    open.lastMs = eotMs;
    last.landed ??= verdictOf(payload);
    if (++last.bounces === 1) return this.#tell.bounce(payload, last);
    const isUnnamed = payload.playerId === undefined && payload.shotType === undefined;
    this.#tell.bounce(payload, isUnnamed ? undefined : NOBODY);
  }

  #speed({ courtId, eotMs, payload }: BallEvent): void {
    const last = this.#open.get(courtId)?.last;
    this.#tell.speed(payload, last !== undefined && eotMs - last.eotMs <= FLIGHT_MS ? last : NOBODY);
  }
}
