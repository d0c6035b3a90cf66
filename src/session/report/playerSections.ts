import type { Bins } from '../../base/bins.ts';
import { count, duration, type Html, html, number, percent, shortName, table } from '../../base/html.ts';
import { SQUARE_FT } from '../analysis/grid.ts';
import { type LandingMap, VERDICTS } from '../analysis/landings.ts';
import { NO_PLAYER, NO_SHOT_TYPE, OTHER_PLAYERS, type PlayerTally } from '../analysis/players.ts';
import { isRallyOverAtLanding } from '../analysis/sessionTally.ts';
import { DEPTH_FT, depthBars, depthFigure, histogram } from './charts.ts';
import { coordinate, landingFigure, positionFigure, shotName, squareSize } from './maps.ts';
import { ballOf, type Content, capital, legend, nothing, numbers, type Section } from './pageParts.ts';

/** At most this many shot types of a player have a map of their own: those with the most landings. */
export const MAPS_DRAWN = 12;
/** Of a bar of the histogram of speeds, in km/h. */
const SPEED_WIDTHS = [2, 5, 10, 25] as const;
/** Squares of a heat map that the table lists. */
const SQUARES_LISTED = 20;
const M_PER_FT = 0.3048;
/** Characters that are shown of either end of a player's name, where it is too long for `shortName`. */
const NAME_END = 20;
/** Of the session: where a player has positions for less of it, the page says for how much. */
const SEEN_SHARE = 0.9;

/** @returns a section for each player, and one for what names none. */
export function playerSections(content: Content): Section[] {
  const players = content.tally.players
    .entries()
    .map(([id, player]) => ({ id, player, maps: strokeMaps(player) }));
  const size = squareSize(
    players.flatMap(({ player, maps }) => [player.landings, ...maps.map(([, map]) => map)]),
    content.frame,
  );
  return players.map(({ id, ...of }, i) => {
    const name = playerName(id);
    return { id: `player-${i + 1}`, heading: name, body: playerBody({ ...content, ...of, name, size }) };
  });
}

/** @returns a player as the page names him: of a long name the middle is cut, since ids of one system often begin alike. */
export function playerName(id: string): string {
  if (id === NO_PLAYER) return 'Player not known';
  if (id === OTHER_PLAYERS) return 'Other players';
  const characters = [...id];
  const ends = [characters.slice(0, NAME_END), characters.slice(1 - NAME_END)].map((end) => end.join(''));
  return shortName(characters.length <= 2 * NAME_END ? id : ends.join('…'));
}

/** @returns what each player did, a row for each. */
export function playersTable({ tally }: Content): Html {
  const players = tally.players.entries().map(([id, player]) => {
    const isRun = id !== NO_PLAYER && id !== OTHER_PLAYERS && player.run.seenMs > 0;
    return { name: playerName(id), player, isRun };
  });
  const rows = players.map(({ name, player, isRun }) => {
    const speeds = player.speeds(tally.rallies.areSpeedsAtHits);
    const run = isRun ? `${number(player.run.ft * M_PER_FT)} m` : '–';
    return [name, player.hits, inShare(player.landings), kmh(speeds, 0.5), kmh(speeds, 1), run];
  });
  const tookMs = (tally.lastMs ?? 0) - (tally.firstMs ?? 0);
  const seen = players
    .filter(({ isRun, player }) => isRun && player.run.seenMs < SEEN_SHARE * tookMs)
    .map(({ name, player }) => `${name} ${duration(player.run.seenMs)}`);
  return html`${table(['Player', 'shots', 'in', 'median km/h', 'fastest km/h', 'distance run'], rows)}${seen.length === 0 ? '' : html`\n<p class="note">The session took ${duration(tookMs)}, and the distance run is of the part in which positions came: ${seen.join(', ')}.</p>`}\n`;
}

/** @returns how many of the judged landings were in: "73 % of 22". */
function inShare({ counts }: LandingMap): string {
  const judged = counts.in + counts.out;
  return judged === 0 ? '–' : `${percent(counts.in, judged)} of ${number(judged)}`;
}

function kmh(speeds: Bins, part: number): string {
  const speed = speeds.quantile(part);
  return speed === undefined ? '–' : number(speed);
}

interface PlayerContent extends Content {
  readonly name: string;
  readonly player: PlayerTally;
  /** Of his shot types. */
  readonly maps: readonly (readonly [shotType: string, map: LandingMap])[];
  /** See `squareSize`. */
  readonly size: number;
}

/** @returns the shot types with the most landings, in the order of their names. */
function strokeMaps(player: PlayerTally): (readonly [string, LandingMap])[] {
  const all = player.strokes.entries().map(([name, { landings }]) => [name, landings] as const);
  const landed = all.filter(([, { total }]) => total > 0);
  const drawn = landed.toSorted(([, a], [, b]) => b.total - a.total).slice(0, MAPS_DRAWN);
  return landed.filter((map) => drawn.includes(map));
}

function playerBody(content: PlayerContent): Html[] {
  const { name, player, lines, frame, maps, size } = content;
  const { landings } = player;
  if (player.strokes.entries().length === 0 && player.positions.total === 0) {
    return [nothing('No hits, landings, speeds or positions of this player.')];
  }
  const isOfLast = isRallyOverAtLanding(lines) && landings.total > 0;
  const strokes = maps.map(([shotType, map]) => {
    const title = shotName(shotType);
    return landingFigure({ title, of: `${title} of ${name}`, map, frame, size, width: 'stroke' });
  });
  return [
    html`<div class="pair">\n<div>${strokeTable(content)}${isOfLast ? html`\n<p class="note">A landing ends the rally: “in” is of the shots that were the last of one.</p>` : ''}</div>\n`,
    html`<div>\n<div class="maps">${playerMaps(content)}</div>\n<div class="charts">${charts(content)}</div>\n</div>\n</div>\n`,
    landings.total === 0 ? html`` : legend(landings.counts['not judged'] > 0),
    // One map would be that of all his shots once more.
    html`<div class="strokes">${strokes.length > 1 ? strokes : []}</div>\n`,
    ...tables(content),
  ];
}

function strokeTable({ player, tally }: PlayerContent): Html {
  const rows = player.strokes.entries().map(([shotType, stroke]) => {
    const median = kmh(stroke.speeds(tally.rallies.areSpeedsAtHits), 0.5);
    return [shotName(shotType), stroke.hits, inShare(stroke.landings), median];
  });
  if (rows.length === 0) return nothing('No hits of this player.');
  return table(['Shot', 'shots', 'in', 'median km/h'], rows);
}

function playerMaps({ name, player: { landings, positions }, frame, size }: PlayerContent): Html[] {
  const title = 'Where the shots landed';
  const of = `the shots of ${name}`;
  return [
    ...(landings.total === 0
      ? []
      : [landingFigure({ title, of, map: landings, frame, size, width: 'player' })]),
    ...(positions.total === 0 ? [] : [positionFigure(name, positions, frame)]),
  ];
}

function charts({ name, player, tally, frame, lines }: PlayerContent): Html[] {
  const depths = depthBars(player.depths, frame);
  const speeds = player.speeds(tally.rallies.areSpeedsAtHits);
  const total = count(speeds.total, 'speed');
  const options = {
    title: capital(`${ballOf(lines)} speed`),
    of: name,
    unit: 'km/h',
    total,
    widths: SPEED_WIDTHS,
  };
  return [
    ...(depths.length === 0 ? [] : [depthFigure(name, depths, frame)]),
    ...(speeds.total === 0 ? [] : [histogram(speeds, options)]),
  ];
}

/** @returns the tables behind the figures. */
function tables({ name, player, tally, frame, size, lines }: PlayerContent): Html[] {
  const { landings, positions } = player;
  const between = (from: number, size: number) => `${from} to ${from + size}`;
  const places = (landings.points ?? []).map(({ shotType, x, y, verdict }) => {
    return [shotName(shotType ?? NO_SHOT_TYPE), coordinate(x), coordinate(y), verdict];
  });
  const squares = VERDICTS.flatMap((verdict) =>
    landings
      .cells(verdict, size, frame)
      .map(({ x, y, count }) => [between(x, size), between(y, size), verdict, count]),
  );
  const depths = depthBars(player.depths, frame).map((bar) => {
    return [between(bar.from, DEPTH_FT), ...VERDICTS.map((verdict) => bar[verdict])];
  });
  const speeds = player.speeds(tally.rallies.areSpeedsAtHits);
  const parts = speeds.total === 0 ? [] : QUANTILES.map(([part, name]) => [name, kmh(speeds, part)]);
  const busiest = positions.cells(SQUARE_FT, frame).toSorted((a, b) => b.count - a.count);
  const stood = busiest.slice(0, SQUARES_LISTED).map(({ x, y, count }) => {
    return [between(x, SQUARE_FT), between(y, SQUARE_FT), count, percent(count, positions.total)];
  });
  const all: [of: string, headings: string[], rows: (string | number)[][]][] = [
    ['where each shot landed', ['Shot', 'x, ft', 'y, ft', 'judged'], places],
    ['landings by square', ['x, ft', 'y, ft', 'judged', 'landings'], squares],
    ['depth', [frame.court === undefined ? 'y, ft' : 'From the net, ft', ...VERDICTS], depths],
    [`${ballOf(lines)} speeds`, ['Of the speeds', 'km/h'], parts],
    ['most frequent places', ['x, ft', 'y, ft', 'positions', 'share'], stood],
  ];
  return all
    .filter(([, , rows]) => rows.length > 0)
    .map(([of, headings, rows]) => numbers(`${name}, ${of}`, table(headings, rows)));
}

const QUANTILES = [
  [0.05, 'one in twenty is slower'],
  [0.25, 'a quarter is slower'],
  [0.5, 'half is slower: the median'],
  [0.75, 'a quarter is faster'],
  [0.95, 'one in twenty is faster: the 95th percentile'],
  [1, 'the fastest'],
] as const;
