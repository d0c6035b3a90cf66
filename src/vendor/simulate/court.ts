import { COURTS } from '../../protocol/courtLines.ts';
import type { EventType } from '../../protocol/eventTypes.ts';
import type { Random } from './random.ts';

/** A match of pickleball of two players, as its cameras see it: the same for the same seed, however its time is cut into steps. */

/** The cameras of a court: of the ball, of its speed, of the players. */
export const CAMERAS = ['cam-1', 'radar', 'cam-2'] as const;
export type Camera = (typeof CAMERAS)[number];

export interface Detection {
  readonly camera: Camera;
  /** When it happened, and when the camera sends it, in seconds since the match began. */
  readonly atS: number;
  readonly readyS: number;
  readonly eventId: string;
  readonly type: EventType;
  readonly confidence: number;
  /** 0 is preliminary, 1 confirmed or corrected. */
  readonly revision: number;
  readonly payload: Readonly<Record<string, unknown>>;
}

const STEP_S = 0.1;
const SWINGS = ['forehand', 'backhand'] as const;
const { width: WIDTH, length: LENGTH } = COURTS.pickleball!;
/** The y of the net. */
const NET = LENGTH / 2;
/** Where players wait: feet from the net. */
const HOME = 8;

/** The usual flight of a stroke. */
interface Shot {
  readonly name: string;
  /** How far behind the net it lands, and the standard deviation of that, in feet. */
  readonly depth: number;
  readonly spread: number;
  /** As it leaves the paddle. */
  readonly kmh: number;
}

const SERVE: Shot = { name: 'serve', depth: 17.5, spread: 2, kmh: 58 };
const RETURN: Shot = { name: 'return', depth: 17.5, spread: 2.2, kmh: 50 };
const DINK: Shot = { name: 'dink', depth: 4.2, spread: 1.4, kmh: 25 };
/** A dink is played as often as two of the others. */
const RALLY: readonly Shot[] = [
  ...[DINK, DINK],
  { name: 'drop', depth: 5, spread: 1.8, kmh: 34 },
  { name: 'drive', depth: 15.5, spread: 3, kmh: 66 },
  { name: 'volley', depth: 12, spread: 3.5, kmh: 52 },
  { name: 'lob', depth: 18, spread: 2.2, kmh: 38 },
  { name: 'smash', depth: 15, spread: 3.4, kmh: 78 },
];
/** The first strokes of a rally have to bounce, and this share of the others does; a ball that nobody reaches always does. */
const MUST_BOUNCE = 2;
const BOUNCE_SHARE = 0.5;
/** The share of strokes that the other player does not reach. */
const WINNER_SHARE = 0.14;
/** Feet that a player runs in a step, and by how much a camera is wrong about it. */
const RUN_FT = 1.2;
const NOISE_FT = 0.4;
/** A ball is slower on its way than where it was struck. */
const MEAN_SPEED_SHARE = 0.5;
const FT_PER_S_OF_KMH = 0.9113;
/** Seconds that a camera needs for a detection, and until a preliminary one is confirmed. */
const DETECTING_S = 0.15;
const CONFIRMING_S = 1.5;
/** The share of detections that a camera sends late, and by how many seconds. */
const LATE = { share: 0.03, least: 3, most: 10 } as const;
const PLAYERS = ['player-a', 'player-b'] as const;

/** Which camera detects an event of a type, and how sure it is at least. */
const SEEN: Readonly<Record<EventType, readonly [Camera, leastConfidence: number]>> = {
  BALL_BOUNCE: ['cam-1', 0.5],
  BALL_HIT: ['cam-1', 0.5],
  BALL_SPEED: ['radar', 0.8],
  PLAYER_POSITION: ['cam-2', 0.85],
  PLAYER_IDENTITY: ['cam-2', 0.9],
};

interface Place {
  readonly x: number;
  readonly y: number;
}

export class SimulatedCourt {
  readonly #random: Random;
  /** Of the player below the net and of the other: where they are, and where they run to. */
  readonly #players = [home(0), home(1)];
  readonly #targets = [home(0), home(1)];
  #pending: Detection[] = [];
  #step = 0;
  #nextHitS = 0.5;
  #stroke = 0;
  #striker = 0;

  constructor(random: Random) {
    this.#random = random;
    for (const player_id of PLAYERS) this.#see('PLAYER_IDENTITY', 0, { player_id });
  }

  /** @returns what cameras send up to that second of the match, in the order of sending. */
  until(matchS: number): Detection[] {
    // A step begins early enough for whatever becomes ready in it.
    while (this.#step * STEP_S <= matchS) this.#play(this.#step++ * STEP_S);
    const ready = this.#pending.filter(({ readyS }) => readyS <= matchS);
    this.#pending = this.#pending.filter(({ readyS }) => readyS > matchS);
    // Stable: events that are ready at the same time stay in the order in which they were seen.
    return ready.sort((a, b) => a.readyS - b.readyS);
  }

  /** Each player runs a step towards their target, and the cameras see about where they are. */
  #play(atS: number): void {
    const noise = () => (this.#random.next() - 0.5) * NOISE_FT;
    for (const [i, player_id] of PLAYERS.entries()) {
      const [at, to] = [this.#players[i]!, this.#targets[i]!];
      const part = Math.min(1, RUN_FT / Math.hypot(to.x - at.x, to.y - at.y));
      const [x, y] = [at.x + (to.x - at.x) * part, at.y + (to.y - at.y) * part];
      this.#players[i] = { x, y };
      this.#see('PLAYER_POSITION', atS, { player_id, x_ft: feet(x + noise()), y_ft: feet(y + noise()) });
    }
    if (atS >= this.#nextHitS) this.#hit(atS);
  }

  /** A stroke, how fast the ball left, and where it came down, if it did. */
  #hit(atS: number): void {
    const [random, striker] = [this.#random, this.#striker];
    const shot = this.#stroke > 1 ? random.pick(RALLY) : this.#stroke === 1 ? RETURN : SERVE;
    const hit = { player_id: PLAYERS[striker]!, shot_type: shot.name, swing_type: random.pick(SWINGS) };
    this.#confirm(this.#see('BALL_HIT', atS, hit), hit);
    const kmh = Math.min(Math.max(about(random, shot.kmh, shot.kmh / 9), 20), 90);
    this.#see('BALL_SPEED', atS + 0.02, { kmh: Math.round(kmh * 10) / 10 });
    // To the left or the right of the middle, as deep as such shots are.
    const x = WIDTH * about(random, random.chance(0.5) ? 0.27 : 0.73, 0.16);
    const landing = { x, y: behindNet(1 - striker, about(random, shot.depth, shot.spread)) };
    const from = this.#players[striker]!;
    const flightS = Math.hypot(x - from.x, landing.y - from.y) / (kmh * FT_PER_S_OF_KMH * MEAN_SPEED_SHARE);
    const landsS = atS + Math.max(0.3, flightS);
    const isOver = !this.#isIn(landing) || random.chance(WINNER_SHARE);
    const bounces = isOver || this.#stroke < MUST_BOUNCE || random.chance(BOUNCE_SHARE);
    if (bounces) this.#bounce(landsS, landing);
    this.#run(landing, isOver);
    this.#stroke = isOver ? 0 : this.#stroke + 1;
    this.#nextHitS = landsS + (isOver ? 4 + random.next() * 4 : bounces ? 0.4 : 0);
  }

  #isIn({ x, y }: Place): boolean {
    const isBehindNet = this.#striker === 0 ? y > NET : y < NET;
    return isBehindNet && x >= 0 && x <= WIDTH && y >= 0 && y <= LENGTH;
  }

  /** The other player runs to the ball, the striker back; or both to where the next rally begins, which its winner serves. */
  #run(landing: Place, isOver: boolean): void {
    const striker = this.#striker;
    if (!isOver || !this.#isIn(landing)) this.#striker = 1 - striker;
    this.#targets[striker] = home(striker);
    this.#targets[1 - striker] = isOver ? home(1 - striker) : landing;
  }

  #bounce(atS: number, { x, y }: Place): void {
    const near = () => this.#random.next() - 0.5;
    const place = (x: number, y: number) => ({ x_ft: feet(x), y_ft: feet(y), is_in: this.#isIn({ x, y }) });
    this.#confirm(this.#see('BALL_BOUNCE', atS, place(x + near(), y + near())), place(x, y));
  }

  /** Later, under the same id. */
  #confirm(preliminary: Detection, payload: Detection['payload']): void {
    const readyS = preliminary.readyS + CONFIRMING_S;
    this.#pending.push({ ...preliminary, readyS, payload, revision: 1, confidence: this.#confidence(0.9) });
  }

  #see(type: EventType, atS: number, payload: Detection['payload']): Detection {
    const [random, [camera, least]] = [this.#random, SEEN[type]];
    const lateS = random.chance(LATE.share) ? random.integer(LATE.least, LATE.most) : 0;
    const own = { eventId: uuid(random), confidence: this.#confidence(least), revision: 0 };
    const detection = { ...own, camera, atS, readyS: atS + DETECTING_S + lateS, type, payload };
    this.#pending.push(detection);
    return detection;
  }

  #confidence(least: number): number {
    return Math.round((least + this.#random.next() * (0.99 - least)) * 1000) / 1000;
  }
}

/** @returns where a player waits for the ball. */
function home(player: number): Place {
  return { x: WIDTH / 2, y: behindNet(player, HOME) };
}

function behindNet(player: number, depth: number): number {
  return player === 0 ? NET - depth : NET + depth;
}

/** @returns a number that is normally distributed, nearly, and at most 3.4 standard deviations from the mean. */
function about(random: Random, mean: number, deviation: number): number {
  const sum = random.next() + random.next() + random.next() + random.next();
  return mean + deviation * (sum - 2) * 1.7;
}

function feet(value: number): number {
  return Math.round(value * 100) / 100;
}

/** @returns a UUID of version 4 (RFC 9562, 5.4). */
function uuid(random: Random): string {
  const digit = () => random.integer(0, 15).toString(16);
  return 'xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx'.replaceAll('x', digit);
}
