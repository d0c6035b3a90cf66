import { type CourtFrame, isInside } from './courtFrame.ts';

/** What a grid holds, in feet both ways: more than any court with its run-off. */
export const GRID_FT = { least: -40, most: 120 } as const;
/** Side of a square, in feet. */
export const SQUARE_FT = 2;
const SIDE = (GRID_FT.most - GRID_FT.least) / SQUARE_FT;

/** A square, by its lower left corner in feet, with the number of positions in it. */
interface Cell {
  readonly x: number;
  readonly y: number;
  readonly count: number;
}

/** Counts positions by squares of two feet: 25 KB, whatever a camera sends. */
export class Grid {
  readonly #counts = new Uint32Array(SIDE ** 2);
  /** Of positions, including those that are in no square. */
  total = 0;

  add(x: number, y: number): void {
    this.total++;
    const [column = 0, row = 0] = [x, y].map((ft) => Math.floor((ft - GRID_FT.least) / SQUARE_FT));
    if (column >= 0 && row >= 0 && column < SIDE && row < SIDE) this.#counts[row * SIDE + column]!++;
  }

  /** @returns the squares that have a position and lie in the frame. */
  cells(frame: CourtFrame): Cell[] {
    return [...this.#counts].flatMap((count, square) => {
      const x = (square % SIDE) * SQUARE_FT + GRID_FT.least;
      const y = Math.floor(square / SIDE) * SQUARE_FT + GRID_FT.least;
      return count > 0 && isInside(frame, x + SQUARE_FT / 2, y + SQUARE_FT / 2) ? [{ x, y, count }] : [];
    });
  }
}
