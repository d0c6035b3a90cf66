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

/** A rally that is over. */
export interface Rally {
  readonly startMs: number;
  readonly hits: number;
  readonly last: Striker;
  /** The hit before the last one. */
  readonly before: Striker | undefined;
  /** How the last hit's landing was judged; undefined if it was not seen. */
  readonly end: LineCall | undefined;
}

interface RallyListener {
  /** @param by the hit whose landing this is, unless the event names another; undefined if the ball has landed before. */
  bounce(payload: Payload, by: Striker | undefined): void;
  /** @param by the hit whose speed this is, unless the event names another. */
  speed(payload: Payload, by: Striker): void;
  rally(rally: Rally): void;
}

interface Hit extends Striker {
  readonly eotMs: number;
  readonly bounces: LineCall[];
}

interface OpenRally {
  readonly startMs: number;
  hits: number;
  last: Hit;
  before: Hit | undefined;
  /** Of its last hit or bounce. */
  lastMs: number;
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
  readonly #open = new Map<string, OpenRally>();
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
    const hit: Hit = { eotMs, playerId, shotType, bounces: [] };
    const open = this.#open.get(courtId);
    if (open !== undefined && !this.#isOver(open, eotMs)) {
      Object.assign(open, { hits: open.hits + 1, before: open.last, last: hit, lastMs: eotMs });
      return;
    }
    this.#close(courtId);
    this.#open.set(courtId, { startMs: eotMs, hits: 1, last: hit, before: undefined, lastMs: eotMs });
  }

  #isOver({ last: { bounces }, lastMs }: OpenRally, eotMs: number): boolean {
    const hasEnded = bounces[0] === 'out' || bounces.length > (this.#endsAtLanding ? 0 : 1);
    return hasEnded || eotMs - lastMs > FLIGHT_MS;
  }

  #close(court: string): void {
    const open = this.#open.get(court);
    if (open === undefined) return;
    const { startMs, hits, last, before } = open;
    this.#tell.rally({ startMs, hits, last, before, end: last.bounces[0] });
    this.#open.delete(court);
  }

  #bounce({ courtId, eotMs, payload }: BallEvent): void {
    const open = this.#open.get(courtId);
    const isOfRally = open !== undefined && eotMs - open.lastMs <= FLIGHT_MS;
    const isSecond = isOfRally && open.last.bounces.length > 0;
    if (isOfRally) {
      open.lastMs = eotMs;
      // A third bounce adds nothing.
      if (open.last.bounces.length < 2) open.last.bounces.push(verdictOf(payload));
    }
    const { playerId, shotType } = payload;
    const isUnnamed = playerId === undefined && shotType === undefined;
    this.#tell.bounce(payload, !isSecond ? (isOfRally ? open.last : NOBODY) : isUnnamed ? undefined : NOBODY);
  }

  #speed({ courtId, eotMs, payload }: BallEvent): void {
    const last = this.#open.get(courtId)?.last;
    this.#tell.speed(payload, last !== undefined && eotMs - last.eotMs <= FLIGHT_MS ? last : NOBODY);
  }
}
