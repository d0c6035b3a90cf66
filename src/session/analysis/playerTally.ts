import { Bins } from '../../base/bins.ts';
import { NamedTallies } from './namedTallies.ts';
import { Grid, LandingMap } from './places.ts';

/** At most this many players and shot types of each are kept apart: no sport has as many, but a camera may send any text. */
export const PLAYERS_MAX = 16;
const SHOT_TYPES_MAX = 32;

/** For events that name no player, or no shot type. */
export const NO_PLAYER = 'no player_id';
export const OTHER_PLAYERS = 'other players';
export const NO_SHOT_TYPE = 'no shot type';

/** One shot type of a player. */
class Stroke {
  hits = 0;
  readonly landings = new LandingMap();
  /** In km/h. */
  readonly speeds = new Bins(0.1);
}

/** What a report says of one player. */
export class PlayerTally {
  /** By shot type. */
  readonly strokes = new NamedTallies(SHOT_TYPES_MAX, () => new Stroke(), 'other shot types', NO_SHOT_TYPE);
  readonly landings = new LandingMap();
  readonly positions = new Grid();
  /** Rallies that the player won, and those that ended with a shot of theirs, by how its landing was judged. */
  won = 0;
  readonly ended = { in: 0, out: 0, 'not judged': 0, 'not seen': 0 };

  get hits(): number {
    return this.strokes.entries().reduce((sum, [, { hits }]) => sum + hits, 0);
  }

  get speeds(): Bins {
    return this.strokes.entries().reduce((all, [, { speeds }]) => all.addAll(speeds), new Bins(0.1));
  }
}
