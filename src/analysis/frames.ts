import { COURTS, type CourtName, type Frame, halfFrame, isInside, wholeFrame } from './court.ts';
import { GRID_FT } from './grid.ts';
import { Outside, type OutsideLanding } from './landings.ts';

/** How many positions it takes to tell what y means. */
const HALF_LEAST = 20;
/** Share of the positions that must lie in half a court's frame for half a court to be drawn: cameras see ghosts. */
const HALF_SHARE = 0.99;
/** Without court lines the frame holds the positions and a margin, rounded, and is at least this long; all in feet. */
const [MARGIN_FT, ROUND_FT, LEAST_FT] = [1, 5, 20];

/**
 * Finds what the maps show. The protocol does not say where y begins. A camera that gives it from the base line has about half of
 * all positions beyond the net; where none are, y counts from the net, on either side of it, and half a court is drawn.
 */
export class FrameFinder {
  readonly #whole: Outside;
  /** Undefined where no lines are drawn: then the frame is what holds the positions. */
  readonly #half: Outside | undefined;
  #positions = 0;
  #inHalf = 0;
  #extent = { x1: Infinity, y1: Infinity, x2: -Infinity, y2: -Infinity };

  constructor(lines: CourtName) {
    const court = COURTS[lines];
    const { least, most } = GRID_FT;
    const everything = { isHalf: false, x1: least, y1: least, x2: most, y2: most };
    this.#whole = new Outside(court === undefined ? everything : wholeFrame(court));
    this.#half = court === undefined ? undefined : new Outside(halfFrame(court));
  }

  /** A landing or a player. */
  addPosition(x: number, y: number): void {
    this.#positions++;
    if (this.#half !== undefined && isInside(this.#half.frame, x, y)) this.#inHalf++;
    if (this.#half !== undefined || !isInside(this.#whole.frame, x, y)) return;
    const { x1, y1, x2, y2 } = this.#extent;
    this.#extent = { x1: Math.min(x1, x), y1: Math.min(y1, y), x2: Math.max(x2, x), y2: Math.max(y2, y) };
  }

  addLanding(landing: OutsideLanding): void {
    this.addPosition(landing.x, landing.y);
    this.#whole.add(landing);
    this.#half?.add(landing);
  }

  /** @returns what the maps show, and the landings outside of it. */
  found(): { readonly frame: Frame; readonly outside: Outside } {
    if (this.#half === undefined) return { frame: this.#fitted(), outside: this.#whole };
    const isHalf = this.#positions >= HALF_LEAST && this.#inHalf >= HALF_SHARE * this.#positions;
    const outside = isHalf ? this.#half : this.#whole;
    return { frame: outside.frame, outside };
  }

  #fitted(): Frame {
    const { x1, y1, x2, y2 } = this.#extent;
    if (x1 > x2) return { isHalf: false, x1: 0, y1: 0, x2: LEAST_FT, y2: LEAST_FT };
    const down = (value: number) => Math.floor((value - MARGIN_FT) / ROUND_FT) * ROUND_FT;
    const up = (value: number, from: number) =>
      Math.max(Math.ceil((value + MARGIN_FT) / ROUND_FT) * ROUND_FT, from + LEAST_FT);
    return { isHalf: false, x1: down(x1), y1: down(y1), x2: up(x2, down(x1)), y2: up(y2, down(y1)) };
  }
}
