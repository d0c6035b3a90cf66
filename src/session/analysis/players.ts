import { Bins, linear } from '../../base/bins.ts';
import { Grid } from './grid.ts';
import { byVerdict, LandingMap, type LineCall } from './landings.ts';
import { NamedTallies } from './namedTallies.ts';

/** At most this many players and shot types of each are kept apart: no sport has as many, but a camera may send any text. */
export const PLAYERS_MAX = 16;
const SHOT_TYPES_MAX = 32;

/** What events name no player, or no shot type. */
export const NO_PLAYER = 'no player_id';
export const OTHER_PLAYERS = 'other players';
export const NO_SHOT_TYPE = 'no shot type';
const OTHER_SHOT_TYPES = 'other shot types';

/** Where two positions of a player are further apart in time, nobody knows how he went. */
export const POSITIONS_APART_MS = 5_000;
/** Nobody runs faster, in feet a second (12 m/s): there the camera has taken another for him. */
const RUN_FT_PER_S = 40;
/** A camera is wrong by some inches, ten times a second: only a way of this length, in feet, is one. */
export const STEP_FT = 1.5;

/** One shot type of a player. */
class Stroke {
  hits = 0;
  readonly landings = new LandingMap();
  readonly #speeds = new Bins(linear(0.1));
  /** Speeds of the same time as a hit: those that are of this stroke if such a speed is that hit's, and if it is the hit's before it. */
  readonly #ofHit = { at: new Bins(linear(0.1)), before: new Bins(linear(0.1)) };

  addSpeed(kmh: number, of?: 'at' | 'before'): void {
    (of === undefined ? this.#speeds : this.#ofHit[of]).add(kmh);
  }

  /** @param areAtHits see `Rallies`. */
  speeds(areAtHits: boolean): Bins {
    return new Bins(linear(0.1)).addAll(this.#speeds).addAll(this.#ofHit[areAtHits ? 'at' : 'before']);
  }
}

/** What a report says of one player. */
export class PlayerTally {
  /** By shot type. */
  readonly strokes = new NamedTallies(
    SHOT_TYPES_MAX,
    { others: OTHER_SHOT_TYPES, unnamed: NO_SHOT_TYPE },
    () => new Stroke(),
  );
  readonly landings = new LandingMap();
  /** Where along the court his landings were: y in feet, to a tenth. */
  readonly depths = byVerdict(() => new Bins(linear(0.1)));
  readonly positions = new Grid();
  readonly run = new Run();
  /** Rallies whose last hit was his, by how its landing was judged. */
  readonly ended = { ...byVerdict(() => 0), 'not seen': 0 } satisfies Record<LineCall | 'not seen', number>;

  get hits(): number {
    return this.strokes.entries().reduce((sum, [, { hits }]) => sum + hits, 0);
  }

  /** @param areAtHits see `Rallies`. */
  speeds(areAtHits: boolean): Bins {
    const all = new Bins(linear(0.1));
    for (const [, stroke] of this.strokes.entries()) all.addAll(stroke.speeds(areAtHits));
    return all;
  }
}

/** How far a player ran: the straight ways between his positions. A camera that is wrong by more than `STEP_FT` adds to them. */
class Run {
  ft = 0;
  /** Of this time: without gaps between positions. */
  seenMs = 0;
  /** The place up to which the way is counted, and the last position. */
  #from = { x: 0, y: 0 };
  #last = { x: 0, y: 0, ms: -Infinity };

  /** @param ms not earlier than that of the position before. */
  add(x: number, y: number, ms: number): void {
    const last = this.#last;
    const tookMs = ms - last.ms;
    this.#last = { x, y, ms };
    const isSeen = tookMs <= POSITIONS_APART_MS;
    if (isSeen) this.seenMs += tookMs;
    const isFollowed =
      isSeen && Math.hypot(x - last.x, y - last.y) <= STEP_FT + (RUN_FT_PER_S * tookMs) / 1_000;
    const way = Math.hypot(x - this.#from.x, y - this.#from.y);
    if (isFollowed && way < STEP_FT) return;
    if (isFollowed) this.ft += way;
    this.#from = { x, y };
  }
}
