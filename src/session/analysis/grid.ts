import { isInside, type MapFrame } from './mapFrame.ts';

/** What a grid holds, in feet both ways: more than any court with its run-off. */
export const GRID_FT = { least: -40, most: 120 } as const;
/** Side of a square, in feet. */
export const SQUARE_FT = 2;
const SIDE = (GRID_FT.most - GRID_FT.least) / SQUARE_FT;

/** A square with the number of positions in it. */
export interface Cell {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly count: number;
}

/** Counts positions by squares of two feet: 25 KB, whatever a camera sends. */
export class Grid {
  readonly #counts = new Uint32Array(SIDE ** 2);
  /** Of positions, with those that it does not hold. */
  total = 0;

  /** Positions beyond what a grid holds are in no square. */
  add(x: number, y: number): void {
    this.total++;
    const [column, row] = [x, y].map((ft) => Math.floor((ft - GRID_FT.least) / SQUARE_FT)) as [
      number,
      number,
    ];
    if (column >= 0 && row >= 0 && column < SIDE && row < SIDE) this.#counts[row * SIDE + column]!++;
  }

  /** @param size a multiple of SQUARE_FT. @returns the squares of this size that have a position and lie in the frame. */
  cells(size: number, frame: MapFrame): Cell[] {
    const cells = new Map<string, Cell>();
    for (const [square, count] of this.#counts.entries()) {
      if (count === 0) continue;
      const left = (square % SIDE) * SQUARE_FT + GRID_FT.least;
      const bottom = Math.floor(square / SIDE) * SQUARE_FT + GRID_FT.least;
      if (!isInside(frame, left + SQUARE_FT / 2, bottom + SQUARE_FT / 2)) continue;
      const [x, y] = [Math.floor(left / size) * size, Math.floor(bottom / size) * size];
      const key = `${x} ${y}`;
      cells.set(key, { x, y, size, count: (cells.get(key)?.count ?? 0) + count });
    }
    return [...cells.values()];
  }
}
