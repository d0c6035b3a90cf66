import type { EVENT_TYPES } from '../../protocol/event.ts';
import type { Random } from './random.ts';

/** A match of two players, as its cameras see it: the same for the same seed, however its time is cut into steps. */

/** Which of a court's cameras detects it: the ball, its speed, the players. */
export type View = 'ball' | 'radar' | 'players';

export interface Detection {
  readonly view: View;
  /** When it happened, and when the camera sends it, in seconds since the match began. */
  readonly atS: number;
  readonly readyS: number;
  readonly eventId: string;
  readonly type: (typeof EVENT_TYPES)[number];
  readonly confidence: number;
  /** 0 is preliminary, 1 confirmed or corrected. */
  readonly revision: number;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Feet: badminton and pickleball have the same court. */
const COURT = { width: 20, length: 44 } as const;
/** Events a second of one court, on average: two players at 10 Hz, and the ball. */
export const EVENTS_PER_S = 22;
const STEP_S = 0.1;
const SHOTS = ['clear', 'drop', 'smash', 'lob', 'drive', 'net_shot', 'push'] as const;
const SWINGS = ['forehand', 'backhand'] as const;
/** Seconds that a camera needs for a detection, and until a preliminary one is confirmed. */
const DETECTING_S = 0.15;
const CONFIRMING_S = 1.5;
/** The share of detections that a camera sends late, and by how many seconds. */
const LATE = { share: 0.03, least: 3, most: 10 } as const;
const PLAYERS = ['player-a', 'player-b'] as const;

type Seen = Omit<Detection, 'eventId' | 'readyS' | 'revision'>;

export class Court {
  readonly #random: Random;
  readonly #positions = [
    { x: COURT.width / 2, y: COURT.length / 4 },
    { x: COURT.width / 2, y: (COURT.length * 3) / 4 },
  ];
  #pending: Detection[] = [];
  #step = 0;
  #nextHitS = 0.5;
  #shotsLeft = 4;
  #striker = 0;

  constructor(random: Random) {
    this.#random = random;
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

  /** Towards the middle of the player's half, with some noise. */
  #move(player: number): { x: number; y: number } {
    const at = this.#positions[player]!;
    const home = { x: COURT.width / 2, y: (COURT.length * (player === 0 ? 1 : 3)) / 4 };
    at.x += (home.x - at.x) * 0.05 + (this.#random.next() - 0.5) * 1.6;
    at.y += (home.y - at.y) * 0.05 + (this.#random.next() - 0.5) * 1.6;
    return at;
  }

  /** A hit, how fast the ball left, and where it came down; the rally ends with the last of its shots. */
  #hit(atS: number): void {
    const random = this.#random;
    const shot_type = random.pick(SHOTS);
    const hit = { player_id: PLAYERS[this.#striker]!, shot_type, swing_type: random.pick(SWINGS) };
    this.#confirm(
      { view: 'ball', atS, type: 'BALL_HIT', confidence: this.#confidence(0.5), payload: hit },
      hit,
    );
    const kmh = Math.round(((shot_type === 'smash' ? 180 : 70) + random.next() * 60) * 10) / 10;
    this.#see({
      view: 'radar',
      atS: atS + 0.02,
      type: 'BALL_SPEED',
      confidence: this.#confidence(0.8),
      payload: { kmh },
    });
    this.#bounce(atS + 0.5 + random.next() * 0.2);
    this.#striker = 1 - this.#striker;
    if (--this.#shotsLeft > 0) {
      this.#nextHitS = atS + 0.8 + random.next() * 0.6;
    } else {
      this.#shotsLeft = random.integer(2, 12);
      this.#nextHitS = atS + 4 + random.next() * 4;
    }
  }

  #bounce(atS: number): void {
    const random = this.#random;
    const far = this.#striker === 0 ? COURT.length / 2 : 0;
    // One in ten lands outside the lines.
    const [x, y] = [random.next() * 1.1 - 0.05, random.next() * 1.1 - 0.05];
    const at = { x: x * COURT.width, y: far + (y * COURT.length) / 2 };
    const place = (x: number, y: number) => ({
      x_ft: feet(x),
      y_ft: feet(y),
      is_in: x >= 0 && x <= COURT.width && y >= 0 && y <= COURT.length,
    });
    const rough = place(at.x + random.next() - 0.5, at.y + random.next() - 0.5);
    const seen: Seen = {
      view: 'ball',
      atS,
      type: 'BALL_BOUNCE',
      confidence: this.#confidence(0.5),
      payload: rough,
    };
    this.#confirm(seen, place(at.x, at.y));
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
