import { isInside, type MapFrame } from './court.ts';

/** What a grid holds, in feet both ways: more than any court with its run-off. */
export const GRID_FT = { least: -40, most: 120 } as const;
const SIDE = GRID_FT.most - GRID_FT.least;

/** A square with the number of positions in it. */
export interface Cell {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly count: number;
}

/** Counts positions by square foot: memory grows with the squares, not with the positions. */
export class Grid {
  readonly #counts = new Map<number, number>();
  /** Of positions, with those that it does not hold. */
  total = 0;

  /** Positions beyond what a grid holds are in no square. */
  add(x: number, y: number): void {
    this.total++;
    const [column, row] = [Math.floor(x - GRID_FT.least), Math.floor(y - GRID_FT.least)];
    if (column < 0 || row < 0 || column >= SIDE || row >= SIDE) return;
    const square = row * SIDE + column;
    this.#counts.set(square, (this.#counts.get(square) ?? 0) + 1);
  }

  /** @param size a whole number of feet. @returns the squares of this size that have a position and lie in the frame. */
  cells(size: number, frame: MapFrame): Cell[] {
    const cells = new Map<string, Cell>();
    for (const [square, count] of this.#counts) {
      const [left, bottom] = [(square % SIDE) + GRID_FT.least, Math.floor(square / SIDE) + GRID_FT.least];
      if (!isInside(frame, left + 0.5, bottom + 0.5)) continue;
      const [x, y] = [Math.floor(left / size) * size, Math.floor(bottom / size) * size];
      const key = `${x} ${y}`;
      cells.set(key, { x, y, size, count: (cells.get(key)?.count ?? 0) + count });
    }
    return [...cells.values()];
  }
}
