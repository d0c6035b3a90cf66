/** What lines can be drawn; lines are in feet: x from the left side line, y from the near base line. */
export type CourtName = 'pickleball' | 'badminton' | 'tennis' | 'padel' | 'none';

export interface Line {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

export interface CourtLines {
  readonly width: number;
  readonly length: number;
  /** Inside of the outline; without the net. */
  readonly lines: readonly Line[];
}

const court = (width: number, length: number, ...lines: Line[]): CourtLines => ({ width, length, lines });
const across = (y: number, x1: number, x2: number): Line => ({ x1, y1: y, x2, y2: y });
const along = (x: number, y1: number, y2: number): Line => ({ x1: x, y1, x2: x, y2 });

export const COURTS: Readonly<Record<CourtName, CourtLines | undefined>> = {
  // USA Pickleball, rule 2.A: 20 by 44 ft, non-volley zones of 7 ft.
  pickleball: court(20, 44, across(15, 0, 20), across(29, 0, 20), along(10, 0, 15), along(10, 29, 44)),
  // BWF Laws of Badminton, diagram A: singles side lines 1 ft 6 in inside, short service lines 6 ft 6 in from the net.
  badminton: court(
    20,
    44,
    ...[2.5, 15.5, 28.5, 41.5].map((y) => across(y, 0, 20)),
    ...[1.5, 18.5].map((x) => along(x, 0, 44)),
    along(10, 0, 15.5),
    along(10, 28.5, 44),
  ),
  // ITF Rules of Tennis, rule 1: 36 by 78 ft for doubles, service lines 21 ft from the net.
  tennis: court(
    36,
    78,
    ...[18, 60].map((y) => across(y, 4.5, 31.5)),
    ...[4.5, 31.5].map((x) => along(x, 0, 78)),
    along(18, 18, 60),
  ),
  // FIP Rules of Padel, rule 1: 10 by 20 m, service lines 6.95 m from the net.
  padel: court(32.81, 65.62, across(10.01, 0, 32.81), across(55.61, 0, 32.81), along(16.4, 10.01, 55.61)),
  none: undefined,
};
