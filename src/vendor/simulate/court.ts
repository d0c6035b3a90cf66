import type { EventType } from '../../protocol/eventTypes.ts';
import type { Random } from './random.ts';
import { type Shot, type Sport, type SportName, sportOf } from './sports.ts';

/** A match of two players, as its cameras see it: the same for the same seed, however its time is cut into steps. */

/** Which of a court's cameras detects it: the ball, its speed, the players. */
export type View = 'ball' | 'radar' | 'players';

export interface Detection {
  readonly view: View;
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

/** Events a second of one court, on average: two players at 10 Hz, and the ball. */
export const EVENTS_PER_S = 22;
const STEP_S = 0.1;
const SWINGS = ['forehand', 'backhand'] as const;
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

type Seen = Omit<Detection, 'eventId' | 'readyS' | 'revision'>;

interface Place {
  x: number;
  y: number;
}

export class SimulatedCourt {
  readonly #random: Random;
  readonly #sport: Sport;
  /** Where the net is, as y. */
  readonly #net: number;
  /** Of the player below the net and of the other: where they are, and where they run to. */
  readonly #players: readonly [Place, Place];
  readonly #targets: [Place, Place];
  #pending: Detection[] = [];
  #step = 0;
  #nextHitS = 0.5;
  #stroke = 0;
  #striker = 0;

  constructor(random: Random, sport: SportName) {
    this.#random = random;
    this.#sport = sportOf(sport);
    this.#net = this.#sport.court.length / 2;
    this.#players = [this.#waiting(0, this.#net), this.#waiting(1, this.#sport.home)];
    this.#targets = [{ ...this.#players[0] }, { ...this.#players[1] }];
    for (const player_id of PLAYERS)
      this.#see({
        view: 'players',
        atS: 0,
        type: 'PLAYER_IDENTITY',
        confidence: 0.9,
        payload: { player_id },
      });
  }

  /** @returns what cameras send up to that second of the match, in the order of sending. */
  until(matchS: number): Detection[] {
    // A step begins early enough for whatever becomes ready in it.
    while (this.#step * STEP_S <= matchS) this.#play(this.#step++ * STEP_S);
    const ready = this.#pending.filter(({ readyS }) => readyS <= matchS);
    this.#pending = this.#pending.filter(({ readyS }) => readyS > matchS);
    // Stable: what is ready at the same time stays in the order in which it was seen.
    return ready.sort((a, b) => a.readyS - b.readyS);
  }

  #play(atS: number): void {
    for (const [i, player_id] of PLAYERS.entries()) {
      const { x, y } = this.#move(i);
      const payload = { player_id, x_ft: feet(x), y_ft: feet(y) };
      this.#see({
        view: 'players',
        atS,
        type: 'PLAYER_POSITION',
        confidence: this.#confidence(0.85),
        payload,
      });
    }
    if (atS >= this.#nextHitS) this.#hit(atS);
  }

  /** @returns the middle of a player's half, so far from the net. */
  #waiting(player: number, depth: number): Place {
    return { x: this.#sport.court.width / 2, y: this.#behindNet(player, depth) };
  }

  #behindNet(player: number, depth: number): number {
    return player === 0 ? this.#net - depth : this.#net + depth;
  }

  /** A step towards where he runs to. @returns where the camera sees him. */
  #move(player: number): Place {
    const [at, to] = [this.#players[player]!, this.#targets[player]!];
    const way = Math.hypot(to.x - at.x, to.y - at.y);
    const part = way > RUN_FT ? RUN_FT / way : 1;
    at.x += (to.x - at.x) * part;
    at.y += (to.y - at.y) * part;
    const noise = () => (this.#random.next() - 0.5) * NOISE_FT;
    return { x: at.x + noise(), y: at.y + noise() };
  }

  /** A stroke, how fast the ball left, and where it came down, if it did. */
  #hit(atS: number): void {
    const [random, striker] = [this.#random, this.#striker];
    const shot = this.#shot();
    const hit = { player_id: PLAYERS[striker]!, shot_type: shot.name, swing_type: random.pick(SWINGS) };
    this.#confirm(
      { view: 'ball', atS, type: 'BALL_HIT', confidence: this.#confidence(0.5), payload: hit },
      hit,
    );
    const { least, most } = this.#sport.kmh;
    const kmh = Math.min(Math.max(about(random, shot.kmh, shot.kmh / 9), least), most);
    this.#see({
      view: 'radar',
      atS: atS + 0.02,
      type: 'BALL_SPEED',
      confidence: this.#confidence(0.8),
      payload: { kmh: Math.round(kmh * 10) / 10 },
    });
    const landing = this.#landing(shot);
    const from = this.#players[striker]!;
    const ftPerS = kmh * FT_PER_S_OF_KMH * MEAN_SPEED_SHARE;
    const landsS = atS + Math.max(0.3, Math.hypot(landing.x - from.x, landing.y - from.y) / ftPerS);
    const isOver = !this.#isIn(landing) || random.chance(WINNER_SHARE);
    const { mustBounce, bounceShare } = this.#sport;
    const bounces = isOver || this.#stroke < mustBounce || random.chance(bounceShare);
    if (bounces) this.#bounce(landsS, landing);
    this.#run(landing, isOver);
    this.#stroke = isOver ? 0 : this.#stroke + 1;
    this.#nextHitS = landsS + (isOver ? 4 + random.next() * 4 : bounces ? 0.4 : 0);
  }

  #shot(): Shot {
    const { serve, return: answer, rally } = this.#sport;
    if (this.#stroke < 2) return this.#stroke === 0 ? serve : answer;
    return this.#random.pick(rally.flatMap((shot) => Array.from({ length: shot.weight }, () => shot)));
  }

  /** To the left or the right of the middle, as deep as such shots are. */
  #landing({ depth, spread }: Shot): Place {
    const { court, alley } = this.#sport;
    const [random, width] = [this.#random, court.width - 2 * alley];
    const x = alley + width * about(random, random.chance(0.5) ? 0.27 : 0.73, 0.16);
    return { x, y: this.#behindNet(1 - this.#striker, about(random, depth, spread)) };
  }

  #isIn({ x, y }: Place): boolean {
    const { court, alley } = this.#sport;
    const isBehindNet = this.#striker === 0 ? y > this.#net : y < this.#net;
    return isBehindNet && x >= alley && x <= court.width - alley && y >= 0 && y <= court.length;
  }

  /** The other player runs to the ball, the striker back; or both to where the next rally begins, which its winner serves. */
  #run(landing: Place, isOver: boolean): void {
    const [striker, other] = [this.#striker, 1 - this.#striker];
    const { home } = this.#sport;
    if (isOver) {
      if (!this.#isIn(landing)) this.#striker = other;
      this.#targets[this.#striker] = this.#waiting(this.#striker, this.#net);
      this.#targets[1 - this.#striker] = this.#waiting(1 - this.#striker, home + 6);
      return;
    }
    this.#targets[other] = { ...landing };
    this.#targets[striker] = this.#waiting(striker, home);
    this.#striker = other;
  }

  #bounce(atS: number, { x, y }: Place): void {
    const random = this.#random;
    const place = (x: number, y: number) => ({ x_ft: feet(x), y_ft: feet(y), is_in: this.#isIn({ x, y }) });
    const seen: Seen = {
      view: 'ball',
      atS,
      type: 'BALL_BOUNCE',
      confidence: this.#confidence(0.5),
      payload: place(x + random.next() - 0.5, y + random.next() - 0.5),
    };
    this.#confirm(seen, place(x, y));
  }

  /** Preliminary at once, and confirmed later under the same id. */
  #confirm(seen: Seen, payload: Detection['payload']): void {
    const preliminary = this.#see(seen);
    const readyS = preliminary.readyS + CONFIRMING_S;
    this.#pending.push({ ...preliminary, readyS, payload, revision: 1, confidence: this.#confidence(0.9) });
  }

  #see(seen: Seen): Detection {
    const random = this.#random;
    const lateS = random.chance(LATE.share) ? random.integer(LATE.least, LATE.most) : 0;
    const detection = { ...seen, eventId: uuid(random), readyS: seen.atS + DETECTING_S + lateS, revision: 0 };
    this.#pending.push(detection);
    return detection;
  }

  #confidence(least: number): number {
    return Math.round((least + this.#random.next() * (0.99 - least)) * 1000) / 1000;
  }
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
  const hex = Array.from({ length: 4 }, () =>
    Math.floor(random.next() * 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('');
  const variant = '89ab'[Number.parseInt(hex[16]!, 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
