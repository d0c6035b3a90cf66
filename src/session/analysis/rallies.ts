import type { LineCall } from './landings.ts';
import type { Payload } from './payload.ts';

/**
 * What lies further apart than this is of two rallies, or the camera has lost the ball: one that flies for four seconds has been
 * 20 m high. Of the 36,000 hits of 44 badminton matches, 20 follow another after 4 to 10 s; the next rally begins later.
 */
export const FLIGHT_MS = 4_000;
/** A speed that comes by no more than this before a hit may be that hit's, of a camera that stamps it too early. */
export const BEFORE_HIT_MS = 50;
/** Events of one eot that are held back, and courts whose rally is remembered: whatever a camera sends, memory is bounded. */
const HELD_MAX = 10_000;
const COURTS_MAX = 1_000;

/** An event of the ball. */
export interface BallEvent {
  readonly type: 'BALL_BOUNCE' | 'BALL_HIT' | 'BALL_SPEED';
  readonly courtId: string;
  readonly eventId: string;
  readonly revision: number;
  readonly eotMs: number;
  readonly payload: Payload;
}

/** Who hit the ball, and how; neither may be known. */
export type Striker = Pick<Payload, 'playerId' | 'shotType'>;

/** A rally that is over. */
export interface Rally {
  readonly startMs: number;
  /** How many there were. */
  readonly hits: number;
  readonly last: Striker;
  /** How the last hit's landing was judged; undefined where it was not seen. */
  readonly end: LineCall | undefined;
}

interface RallyListener {
  /** @param by the hit whose landing this is, unless the event says otherwise. */
  bounce(event: BallEvent, by: Striker): void;
  /** A ball bounces on that has landed since the last hit: no landing of a shot, unless the event names one. */
  secondBounce(event: BallEvent): void;
  /** @param by the hit before it. @param at the hit of the same time, where there is one: whose speed it is, `areSpeedsAtHits` says. */
  speed(event: BallEvent, by: Striker, at?: Striker): void;
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
  /** Of the last speed that names no player. */
  speedMs?: number;
}

const NOBODY: Striker = { playerId: undefined, shotType: undefined };

/**
 * Finds rallies, and whose landing or speed an event is: that of the last hit on its court, up to `FLIGHT_MS` before, unless it names
 * player or shot itself. A hit lands once; further bounces are no landings. At the same eot the hit comes first, whatever the order of
 * arrival. A rally is over with a landing that was out, the second bounce of a ball, `FLIGHT_MS` without hit or bounce, and, where
 * no ball is played that has landed, with any landing.
 */
export class Rallies {
  readonly #tell: RallyListener;
  readonly #endsAtLanding: boolean;
  readonly #open = new Map<string, OpenRally>();
  /** Of the hits that began a rally, and of all others: how many, and how many had a speed of the same time. */
  readonly #first = { hits: 0, speeds: 0 };
  readonly #later = { hits: 0, speeds: 0 };
  /** Those of at most `BEFORE_HIT_MS` before, which are taken for those of the hit before it. */
  speedsBeforeHits = 0;
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

  /**
   * Cameras measure a speed at the hit, or over the whole flight, and then its time is that of the hit which ends it. The first hit of a
   * rally ends no flight.
   * @returns whether a speed of the same time as a hit is that hit's: the first ones have speeds, too.
   */
  get areSpeedsAtHits(): boolean {
    const share = ({ hits, speeds }: { hits: number; speeds: number }) => speeds / Math.max(hits, 1);
    return share(this.#first) > share(this.#later) / 2;
  }

  /** How many speeds have the time of a hit. */
  get speedsAtHits(): number {
    return this.#first.speeds + this.#later.speeds;
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
    const { speedMs = eotMs } = open ?? {};
    if (speedMs < eotMs && eotMs - speedMs <= BEFORE_HIT_MS) this.speedsBeforeHits++;
    if (open !== undefined && !this.#isOver(open, eotMs)) {
      this.#later.hits++;
      Object.assign(open, { hits: open.hits + 1, before: open.last, last: hit, lastMs: eotMs });
      return;
    }
    this.#close(courtId);
    if (this.#open.size >= COURTS_MAX) this.#close(this.#open.keys().next().value!);
    this.#first.hits++;
    this.#open.set(courtId, { startMs: eotMs, hits: 1, last: hit, before: undefined, lastMs: eotMs });
  }

  #isOver({ last: { bounces }, lastMs }: OpenRally, eotMs: number): boolean {
    return (
      eotMs - lastMs > FLIGHT_MS ||
      bounces.length > 1 ||
      bounces[0] === 'out' ||
      (this.#endsAtLanding && bounces.length > 0)
    );
  }

  #close(court: string): void {
    const open = this.#open.get(court);
    if (open === undefined) return;
    const { startMs, hits, last } = open;
    this.#tell.rally({ startMs, hits, last, end: last.bounces[0] });
    this.#open.delete(court);
  }

  #bounce(event: BallEvent): void {
    const open = this.#open.get(event.courtId);
    const isOfRally = open !== undefined && event.eotMs - open.lastMs <= FLIGHT_MS;
    const isSecond = isOfRally && open.last.bounces.length > 0;
    if (isOfRally) {
      open.lastMs = event.eotMs;
      // What is beyond the second says nothing more.
      if (open.last.bounces.length < 2) open.last.bounces.push(verdictOf(event.payload));
    }
    const { playerId, shotType } = event.payload;
    if (isSecond && playerId === undefined && shotType === undefined) this.#tell.secondBounce(event);
    else this.#tell.bounce(event, isOfRally && !isSecond ? open.last : NOBODY);
  }

  #speed(event: BallEvent): void {
    const open = this.#open.get(event.courtId);
    if (open === undefined || event.eotMs - open.last.eotMs > FLIGHT_MS)
      return this.#tell.speed(event, NOBODY);
    if (event.payload.playerId === undefined) open.speedMs = event.eotMs;
    if (event.eotMs !== open.last.eotMs) return this.#tell.speed(event, open.last);
    (open.before === undefined ? this.#first : this.#later).speeds++;
    this.#tell.speed(event, open.before ?? open.last, open.last);
  }
}

/** @returns how a bounce was judged. */
export function verdictOf({ isIn }: Payload): LineCall {
  return isIn === undefined ? 'not judged' : isIn ? 'in' : 'out';
}
