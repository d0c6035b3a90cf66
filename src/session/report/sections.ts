import {
  clock,
  count,
  duration,
  type Html,
  html,
  localTime,
  number,
  percent,
  shortName,
  table,
} from '../../base/html.ts';
import { byName } from '../../base/visibleText.ts';
import type { CourtName } from '../../protocol/courtLines.ts';
import { EVENT_TYPES, TYPES } from '../../protocol/eventTypes.ts';
import type { SessionLine } from '../../store/read/sessions.ts';
import type { MapFrame } from '../analysis/court.ts';
import type { FirstNames } from '../analysis/firstNames.ts';
import {
  type LandingList,
  type LandingMap,
  NO_SHOT_TYPE,
  OTHER_SHOT_TYPES,
  type OutsideLandings,
  POINTS_DRAWN,
  VERDICTS,
} from '../analysis/landings.ts';
import { type SessionTally, SPEED_MAX_KMH } from '../analysis/sessionTally.ts';
import { PAUSE_LEAST_MS } from '../analysis/timeline.ts';
import {
  confidenceFigure,
  DEPTH_FT,
  depthBars,
  depthFigure,
  rateFigure,
  shareFigure,
  speedFigure,
} from './charts.ts';
import { nothing } from './figures.ts';
import { landingFigure, playerFigure, shotName, squareSize } from './maps.ts';

export interface Content {
  readonly line: SessionLine;
  readonly lines: CourtName;
  readonly tally: SessionTally;
  readonly frame: MapFrame;
  readonly outside: OutsideLandings;
}

export interface Section {
  readonly id: string;
  readonly heading: string;
  readonly body: (content: Content) => Html | readonly Html[];
}

/** Always these, in this order, so that reports can be compared. */
export const SECTIONS: readonly Section[] = [
  { id: 'summary', heading: 'Summary', body: summary },
  { id: 'landings', heading: 'Where each shot landed', body: landings },
  { id: 'depth', heading: 'Depth', body: depth },
  { id: 'share', heading: 'In and out', body: share },
  { id: 'speed', heading: 'Ball speed', body: speed },
  { id: 'players', heading: 'Where players stood', body: players },
  { id: 'rate', heading: 'Events a minute', body: rate },
  { id: 'confidence', heading: 'Confidence', body: confidence },
  { id: 'technician', heading: 'For the technician', body: technician },
];

function totals(tally: SessionTally): { bounces: number; in: number; out: number } {
  const maps = tally.landings().map(([, map]) => map);
  const sum = (of: (map: LandingMap) => number) => maps.reduce((all, map) => all + of(map), 0);
  return {
    bounces: sum((map) => map.total),
    in: sum((map) => map.counts.in),
    out: sum((map) => map.counts.out),
  };
}

/** @returns the names of a kind, in one line. */
export function namesOf(names: FirstNames): string {
  return `${names.sorted().map(shortName).join(', ')}${names.hasMore ? ' and more' : ''}`;
}

/** @returns what the page says about each clock that was wrong. */
function clockNotes({ clockOffsets }: SessionTally): string {
  return [...clockOffsets]
    .map(([source, ms]) => `${shortName(source)} ${duration(Math.abs(ms))} ${ms < 0 ? 'behind' : 'ahead'}`)
    .join(', ');
}

/** In badminton no ball is played that has landed. */
function isRallyOverAtLanding(lines: CourtName): boolean {
  return lines === 'badminton';
}

function inTile(lines: CourtName, inside: number, judged: number): [string, string, string] {
  const share = percent(inside, judged);
  return isRallyOverAtLanding(lines)
    ? ['Rallies ended inside', share, `of the ${number(judged)} whose landing was judged`]
    : ['In', share, 'of the landings that were judged'];
}

function summary({ line, lines, tally }: Content): Html[] {
  const { firstMs = 0, lastMs = 0, byType, speeds } = tally;
  const at = clock(firstMs, lastMs);
  const all = totals(tally);
  const [median, high] = [speeds.quantile(0.5), speeds.quantile(0.95)];
  const tiles: [label: string, value: string, note: string][] = [
    ['Time', duration(lastMs - firstMs), `${at(firstMs)} to ${at(lastMs)}`],
    [
      'Hits',
      number(byType.get('BALL_HIT') ?? 0),
      `${tally.players.hasMore ? 'more than ' : ''}${count(tally.players.size, 'player')}`,
    ],
    ['Landings', number(all.bounces), `${number(all.in)} in, ${number(all.out)} out`],
    inTile(lines, all.in, all.in + all.out),
    ['Median speed', median === undefined ? '–' : `${number(median)} km/h`, count(speeds.total, 'speed')],
    ['95th percentile', high === undefined ? '–' : `${number(high)} km/h`, 'one ball in twenty was faster'],
  ];
  const facts: [string, string][] = [
    ['Court', `${namesOf(tally.courts)}, venue ${namesOf(tally.venues)}`],
    ['Players', namesOf(tally.players) || '–'],
    [
      'Events',
      `${number(tally.current)}, each at its highest revision; ${number(tally.events)} with every revision`,
    ],
    [
      'Sent again',
      `${number(line.duplicates)}${line.conflicts > 0 ? `; ${count(line.conflicts, 'event')} with different content` : ''}`,
    ],
  ];
  if (tally.clockOffsets.size > 0)
    facts.push(['Wrong clocks', `${clockNotes(tally)}: their times are corrected on this page.`]);
  return [
    html`<dl class="tiles">${tiles.map(([label, value, note]) => html`<div><dt>${label}</dt><dd><b>${value}</b><span>${note}</span></dd></div>`)}</dl>\n`,
    html`<dl class="facts">${facts.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>\n`,
  ];
}

/** @returns the legend of the marks; the same everywhere. */
function legend(hasNotJudged: boolean): Html {
  return html`<p class="legend"><span class="in">in</span> <span class="out">out</span>${hasNotJudged ? html` <span class="ring">not judged</span>` : ''}</p>\n`;
}

function landings({ tally, frame, outside, lines }: Content): Html[] {
  const maps = tally.landings();
  if (maps.length === 0) return [nothing('No bounces in this session.')];
  const isDense = maps.some(([, { points }]) => points === undefined);
  const size = squareSize(
    maps.map(([, map]) => map),
    frame,
  );
  const names = maps.map(([name]) => name);
  const at = clock(tally.firstMs ?? 0, tally.lastMs ?? 0);
  return [
    legend(maps.some(([, { counts }]) => counts['not judged'] > 0)),
    html`<div class="maps">${maps.map(([name, map]) => landingFigure(name, map, frame, size))}</div>\n`,
    html`<p class="note">${seen(frame, lines)} A landing belongs to the last hit before it, unless it names its own shot type.${
      names.includes(NO_SHOT_TYPE)
        ? ` “${NO_SHOT_TYPE}” are bounces that follow no hit, such as the second bounce of a ball.`
        : ''
    }${names.includes(OTHER_SHOT_TYPES) ? ` There are too many shot types for a map each: the rest are in “${OTHER_SHOT_TYPES}”.` : ''}${
      isDense
        ? ` Where a map has more than ${POINTS_DRAWN} landings, a mark represents all landings in a square of ${size} ft: the larger the mark, the more.`
        : ''
    }${tally.bouncesWithoutPlace > 0 ? ` ${count(tally.bouncesWithoutPlace, 'bounce')} had no position and are only counted.` : ''}</p>\n`,
    ...outsideList(outside, at),
    ...preliminaryList(tally.preliminary, totals(tally).bounces, at),
  ];
}

/** @returns a sentence about what the maps show. */
function seen(frame: MapFrame, lines: CourtName): string {
  if (frame.court === undefined)
    return `No court lines: x from ${frame.x1} to ${frame.x2} ft, y from ${frame.y1} to ${frame.y2} ft.`;
  const { width, length } = frame.court;
  const size = `${lines[0]!.toUpperCase()}${lines.slice(1)} lines, ${number(width, width % 1 ? 1 : 0)} by ${number(length, length % 1 ? 1 : 0)} ft.`;
  if (!frame.isHalf)
    return `${size} x counts from the left side line, y from the near base line, which is at the bottom; the thick line is the net.`;
  return frame.yFrom === 'net'
    ? `${size} y counts from the net, on either side of it: both halves are drawn on top of each other, with the net at the top. If that is wrong, “courtd report --y-from base” turns it round.`
    : `${size} y counts from the base line, and nothing is beyond the net: only that half is drawn, with the net at the top. If that is wrong, “courtd report --y-from net” turns it round.`;
}

/** Up to this many landings a list is open. */
const LIST_OPEN = 20;

/** @returns a table of the landings, which is closed where it is long. */
function listOf({ listed }: LandingList, at: (ms: number) => string): Html {
  const rows = listed.map(({ shotType, x, y, verdict, eotMs, eventId }) => [
    at(eotMs),
    shotName(shotType ?? NO_SHOT_TYPE),
    coordinate(x),
    coordinate(y),
    verdict,
    shortName(eventId),
  ]);
  const list = table(['Time', 'Shot', 'x, ft', 'y, ft', 'Judged', 'event_id'], rows);
  return rows.length > LIST_OPEN ? numbers(list) : list;
}

function firstOf({ listed, total }: LandingList): string {
  return total > listed.length ? ` The first ${listed.length} of them:` : '';
}

function outsideList(outside: OutsideLandings, at: (ms: number) => string): Html[] {
  const { frame, total } = outside;
  if (total === 0) return [];
  return [
    html`<h3>Outside of the maps</h3>\n<p>${count(total, 'landing')} beyond x ${frame.x1} to ${Math.round(frame.x2)} ft or y ${frame.y1} to ${Math.round(frame.y2)} ft.${firstOf(outside)}</p>\n`,
    listOf(outside, at),
  ];
}

/** @param bounces how many landings there are in all. */
function preliminaryList(preliminary: LandingList, bounces: number, at: (ms: number) => string): Html[] {
  const { total } = preliminary;
  if (total === 0) return [];
  // No camera of the session revises landings: a list of them all would say no more.
  if (total === bounces) {
    return [
      html`<p class="note">Every landing stayed preliminary: no later revision has confirmed or corrected one.</p>\n`,
    ];
  }
  return [
    html`<h3>Preliminary</h3>\n<p>${number(total)} of ${count(bounces, 'landing')} stayed preliminary: no later revision has confirmed or corrected them.${firstOf(preliminary)}</p>\n`,
    listOf(preliminary, at),
  ];
}

/** As it was sent, to a hundredth of a foot; a camera may send any number. */
function coordinate(ft: number | undefined): string {
  if (ft === undefined) return '–';
  return Math.abs(ft) < 1e6 ? String(Math.round(ft * 100) / 100) : ft.toExponential(2);
}

function depth({ tally, frame }: Content): Html[] {
  const bars = depthBars(tally.depths, frame);
  if (bars.length === 0) return [nothing('No bounces in this session.')];
  const rows = bars.map((bar) => [
    `${bar.from} to ${bar.from + DEPTH_FT}`,
    ...VERDICTS.map((verdict) => bar[verdict]),
  ]);
  return [
    html`<div class="charts">${depthFigure(bars, frame)}</div>\n`,
    numbers(table([frame.court === undefined ? 'y, ft' : 'From the net, ft', ...VERDICTS], rows)),
  ];
}

function share({ tally, lines }: Content): Html[] {
  const maps = tally.landings();
  if (maps.length === 0) return [nothing('No bounces in this session.')];
  const rows = maps.map(([name, { counts, total }]) => [
    shotName(name),
    total,
    ...VERDICTS.map((verdict) => counts[verdict]),
    percent(counts.in, counts.in + counts.out),
  ]);
  return [
    html`<div class="charts">${shareFigure(maps)}</div>\n`,
    numbers(table(['Shot', 'landings', ...VERDICTS, 'share in'], rows)),
    isRallyOverAtLanding(lines)
      ? html`<p class="note">A landing ends the rally: these are the shots that were the last of one, and not all shots.</p>\n`
      : html``,
  ];
}

function numbers(content: Html): Html {
  return html`<details><summary>The numbers</summary>${content}</details>\n`;
}

function speed({ tally: { speeds, speedsLeftOut } }: Content): Html[] {
  const left =
    speedsLeftOut === 0
      ? ''
      : ` ${count(speedsLeftOut, 'speed')} below 0 or above ${number(SPEED_MAX_KMH)} km/h, or without kmh, left out.`;
  if (speeds.total === 0) return [nothing(`No ball speeds in this session.${left}`)];
  const rows = [
    ['Median', `${number(speeds.quantile(0.5)!, 1)} km/h`],
    ['95th percentile', `${number(speeds.quantile(0.95)!, 1)} km/h`],
    ['Fastest', `${number(speeds.quantile(1)!, 1)} km/h`],
    ['Speeds', number(speeds.total)],
  ];
  return [
    html`<div class="charts">${speedFigure(speeds)}</div>\n`,
    numbers(table(['Ball speed', 'value'], rows)),
    html`<p class="note">Half of the balls were slower than the median, and one in twenty was faster than the 95th percentile.${left}</p>\n`,
  ];
}

function players({ tally, frame }: Content): Html[] {
  const left =
    tally.positionsLeftOut === 0
      ? ''
      : html`<p class="note">${count(tally.positionsLeftOut, 'position')} without x_ft and y_ft, or of players beyond the first ${tally.positions.size}, are not shown.</p>\n`;
  if (tally.positions.size === 0) return [nothing('No player positions in this session.'), html`${left}`];
  const sorted = [...tally.positions].sort(([a], [b]) => byName(a, b));
  return [
    html`<div class="players">${sorted.map(([player, grid]) => playerFigure(player, grid, frame))}</div>\n`,
    html`<p class="note">A square is 2 ft wide: the stronger its colour, the more often the player was seen in it.</p>\n`,
    html`${left}`,
  ];
}

function rate({ tally }: Content): Html[] {
  const { timeline } = tally;
  const steps = (timeline.steps.at(-1)?.at ?? 0) + 1;
  const step = timeline.stepMs === 60_000 ? 'a minute' : duration(timeline.stepMs);
  return [
    html`<div class="charts">${EVENT_TYPES.map((type) =>
      (tally.byType.get(type) ?? 0) > 0
        ? rateFigure(type, timeline, steps)
        : html`<figure class="empty">${nothing(`No ${TYPES[type].title.toLowerCase()} in this session.`)}</figure>`,
    )}</div>\n`,
    html`<p class="note">Each event once, at its highest revision. A bar is ${step}; minutes count from ${localTime(timeline.startMs ?? 0)}.</p>\n`,
  ];
}

function confidence({ tally }: Content): Html[] {
  const revised = EVENT_TYPES.flatMap((type) => {
    const of = tally.revised.get(type);
    return of === undefined ? [] : [[type, of] as const];
  });
  const compared = revised.filter(([, { before, after }]) => before.total > 0 && after.total > 0);
  if (compared.length === 0) return [nothing('No event of this session was revised.')];
  const rows = compared.map(([type, { before, after }]) => [
    TYPES[type].title,
    before.total,
    before.quantile(0.5)!.toFixed(2),
    after.total,
    after.quantile(0.5)!.toFixed(2),
  ]);
  return [
    html`<p class="legend"><span class="ring">before</span> <span class="in">after revision</span></p>\n`,
    html`<div class="charts">${confidenceFigure(compared)}</div>\n`,
    numbers(table(['Type', 'preliminary', 'median before', 'revised', 'median after'], rows)),
  ];
}

function technician({ tally }: Content): Html[] {
  const { pauses, firstMs = 0, lastMs = 0 } = tally;
  const at = clock(firstMs, lastMs);
  const rows = tally.sources
    .entries()
    .map(([source, of]) => [
      shortName(source),
      of.events,
      of.revisions,
      at(of.firstMs),
      at(of.lastMs),
      duration(of.longestPauseMs),
      duration(of.lateness.quantile(0.5)!),
      duration(of.lateness.quantile(0.95)!),
    ]);
  const longest = pauses.longest().map(({ fromMs, toMs }) => [at(fromMs), at(toMs), duration(toMs - fromMs)]);
  const damaged =
    tally.damaged === 0
      ? []
      : [
          html`<p><b>${count(tally.damaged, 'event')} damaged in the database and left out:</b> run “courtd check --full”.</p>\n`,
        ];
  return [
    ...damaged,
    html`<h3>Sources</h3>\n`,
    table(
      ['Source', 'events', 'revisions', 'first', 'last', 'longest pause', 'late, median', 'late, 95th p.'],
      rows,
    ),
    html`<p class="note">Late is the time from an event's eot to its receipt; below 0 the camera's clock is ahead of the box's. What was imported, or sent from a backlog, is as late as that.${tally.clockOffsets.size === 0 ? '' : ` Wrong clocks: ${clockNotes(tally)}. Their first and last are corrected, how late they are is not.`}</p>\n`,
    html`<h3>Pauses</h3>\n`,
    longest.length === 0
      ? nothing(`At no time ${duration(PAUSE_LEAST_MS)} or more without an event.`)
      : html`<p>${count(pauses.total, 'time')} of ${duration(PAUSE_LEAST_MS)} or more without an event${pauses.total > longest.length ? `; the longest ${longest.length}` : ''}. Shorter ones are usual between rallies and games.</p>\n${table(['From', 'to', 'length'], longest)}`,
  ];
}
