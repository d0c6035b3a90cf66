import { COURTS, type CourtLines, type CourtName } from '../../protocol/courtLines.ts';
import { GRID_FT } from './grid.ts';
import { type OutsideLanding, OutsideLandings } from './landings.ts';
import { halfFrame, isInside, type MapFrame, wholeFrame, type YFrom } from './mapFrame.ts';

/** How many positions it takes to tell what y means. */
const HALF_LEAST = 20;
/** Share of the positions that must lie in half a court's frame for half a court to be drawn: cameras see ghosts. */
const HALF_SHARE = 0.99;
/** Without court lines the frame holds the positions and a margin, rounded, and is at least this long; all in feet. */
const [MARGIN_FT, ROUND_FT, LEAST_FT] = [1, 5, 20];

/**
 * Finds what the maps show. The protocol does not say where y begins, so unless it is given, positions tell: where they go beyond
 * the net, y counts from the base line. Where they all fit on half a court, that is drawn, and y counts from the side beyond which
 * fewer of them lie: balls are out behind the base line, and nobody stands behind the net. Without either, y counts from the net.
 */
export class FrameFinder {
  readonly #yFrom: YFrom | undefined;
  readonly #whole: OutsideLandings;
  /** None where no lines are drawn: then the frame is what holds the positions. */
  readonly #halves: Readonly<Record<YFrom, Half>> | undefined;
  #positions = 0;
  #extent = { x1: Infinity, y1: Infinity, x2: -Infinity, y2: -Infinity };

  /** @param yFrom where y begins; undefined where the positions are to tell. */
  constructor(lines: CourtName, yFrom?: YFrom) {
    const court = COURTS[lines];
    const { least, most } = GRID_FT;
    const everything: MapFrame = { isHalf: false, yFrom: 'base', x1: least, y1: least, x2: most, y2: most };
    this.#yFrom = yFrom;
    this.#whole = new OutsideLandings(court === undefined ? everything : wholeFrame(court));
    this.#halves = court && { base: new Half(court, 'base'), net: new Half(court, 'net') };
  }

  /** A landing or a player. */
  addPosition(x: number, y: number): void {
    this.#positions++;
    this.#halves?.base.addPosition(x, y);
    this.#halves?.net.addPosition(x, y);
    if (this.#halves !== undefined || !isInside(this.#whole.frame, x, y)) return;
    const { x1, y1, x2, y2 } = this.#extent;
    this.#extent = { x1: Math.min(x1, x), y1: Math.min(y1, y), x2: Math.max(x2, x), y2: Math.max(y2, y) };
  }

  addLanding(landing: OutsideLanding): void {
    this.addPosition(landing.x, landing.y);
    this.#whole.addUnlessInside(landing);
    this.#halves?.base.outside.addUnlessInside(landing);
    this.#halves?.net.outside.addUnlessInside(landing);
  }

  /** @returns what the maps show, and the landings outside of it. */
  found(): { readonly frame: MapFrame; readonly outside: OutsideLandings } {
    if (this.#halves === undefined) return { frame: this.#fitted(), outside: this.#whole };
    const { base, net } = this.#halves;
    // Whoever counts from the net has no other half.
    if (this.#yFrom === 'net') return { frame: net.outside.frame, outside: net.outside };
    const enough = Math.max(HALF_LEAST, HALF_SHARE * this.#positions);
    const [half] = [...(this.#yFrom === undefined ? [net] : []), base]
      .filter(({ inside }) => inside >= enough)
      .sort((a, b) => b.behind - a.behind);
    const outside = half?.outside ?? this.#whole;
    return { frame: outside.frame, outside };
  }

  #fitted(): MapFrame {
    const { x1, y1, x2, y2 } = this.#extent;
    const shape = { isHalf: false, yFrom: this.#yFrom ?? 'base' };
    if (x1 > x2) return { ...shape, x1: 0, y1: 0, x2: LEAST_FT, y2: LEAST_FT };
    const down = (value: number) => Math.floor((value - MARGIN_FT) / ROUND_FT) * ROUND_FT;
    const up = (value: number, from: number) =>
      Math.max(Math.ceil((value + MARGIN_FT) / ROUND_FT) * ROUND_FT, from + LEAST_FT);
    return { ...shape, x1: down(x1), y1: down(y1), x2: up(x2, down(x1)), y2: up(y2, down(y1)) };
  }
}

/** Half a court, as it would be with y from one of its ends: how well the positions fit. */
class Half {
  readonly outside: OutsideLandings;
  /** Positions in its frame, and those of them behind its base line. */
  inside = 0;
  behind = 0;
  readonly #isBehind: (y: number) => boolean;

  constructor(court: CourtLines, yFrom: YFrom) {
    this.outside = new OutsideLandings(halfFrame(court, yFrom));
    this.#isBehind = yFrom === 'net' ? (y) => y > court.length / 2 : (y) => y < 0;
  }

  addPosition(x: number, y: number): void {
    if (!isInside(this.outside.frame, x, y)) return;
    this.inside++;
    if (this.#isBehind(y)) this.behind++;
  }
}
