import { type LineCall, verdictOf } from './places.ts';
import type { Payload } from './shotPayload.ts';

/**
 * Strokes further apart than this belong to two rallies, or the camera has lost the ball: one that flies for four seconds has been
 * 20 m high. Of the 36,000 hits of 44 badminton matches, 20 follow another after 4 to 10 s; the next rally begins later.
 */
export const FLIGHT_MS = 4_000;
/** Events of one eot that are held back, and courts whose rally is remembered: whatever a camera sends, memory is bounded. */
const HELD_MAX = 10_000;
const COURTS_MAX = 1_000;

/** An event of the ball. */
export interface BallEvent {
  readonly type: 'BALL_BOUNCE' | 'BALL_HIT' | 'BALL_SPEED';
  readonly courtId: string;
  readonly eotMs: number;
  readonly payload: Payload;
}

/** Who hit the ball, and how; neither may be known. */
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
  /** @param by the hit whose landing this is, unless the event names another. */
  bounce(payload: Payload, by: Striker): void;
  /** A ball bounces on that has landed since the last hit: no landing of a shot, unless the event names one. */
  secondBounce(): void;
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
    if (event.eotMs !== this.#heldMs || this.#held.length >= HELD_MAX) this.#release();
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
    if (this.#open.size >= COURTS_MAX) this.#close(this.#open.keys().next().value!);
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
    if (isSecond && playerId === undefined && shotType === undefined) this.#tell.secondBounce();
    else this.#tell.bounce(payload, isOfRally && !isSecond ? open.last : NOBODY);
  }

  #speed({ courtId, eotMs, payload }: BallEvent): void {
    const last = this.#open.get(courtId)?.last;
    this.#tell.speed(payload, last !== undefined && eotMs - last.eotMs <= FLIGHT_MS ? last : NOBODY);
  }
}
