import {
  clock,
  count,
  duration,
  type Html,
  html,
  localTime,
  number,
  shortName,
  table,
} from '../../base/html.ts';
import type { CourtName } from '../../protocol/courtLines.ts';
import { EVENT_TYPES, type EventType, TYPES } from '../../protocol/eventTypes.ts';
import { type LandingList, type OutsideLandings, POINTS_DRAWN } from '../analysis/landings.ts';
import type { MapFrame } from '../analysis/mapFrame.ts';
import type { NamedTallies } from '../analysis/namedTallies.ts';
import { NO_PLAYER, NO_SHOT_TYPE, OTHER_PLAYERS, POSITIONS_APART_MS, STEP_FT } from '../analysis/players.ts';
import { BEFORE_HIT_MS, FLIGHT_MS } from '../analysis/rallies.ts';
import { isRallyOverAtLanding, type SessionTally, SPEED_MAX_KMH } from '../analysis/sessionTally.ts';
import { PAUSE_LEAST_MS } from '../analysis/timeline.ts';
import { histogram, rateFigure } from './charts.ts';
import { coordinate, shotName } from './maps.ts';
import { ballOf, type Content, capital, nothing, numbers, type Section } from './pageParts.ts';
import { MAPS_DRAWN, playerName, playerSections, playersTable } from './playerSections.ts';

/** @returns always these, in this order, so that reports can be compared. */
export function sectionsOf(content: Content): Section[] {
  return [
    { id: 'summary', heading: 'Summary', body: summary(content) },
    { id: 'rallies', heading: 'Rallies', body: rallies(content) },
    ...playerSections(content),
    { id: 'method', heading: 'How this page counts', body: method(content) },
    { id: 'rate', heading: 'Events a minute', body: rate(content) },
    { id: 'confidence', heading: 'Confidence', body: confidence(content) },
    { id: 'technician', heading: 'For the technician', body: technician(content) },
  ];
}

/** @returns the names of a kind, in one line. */
export function namesOf(names: NamedTallies<null>): string {
  return names
    .entries()
    .map(([name]) => shortName(name))
    .join(', ');
}

/** @returns what the page says about each clock that was wrong. */
function clockNotes({ clockOffsets }: SessionTally): string {
  return [...clockOffsets]
    .map(([source, ms]) => `${shortName(source)} ${duration(Math.abs(ms))} ${ms < 0 ? 'behind' : 'ahead'}`)
    .join(', ');
}

/** No other sport that courtd knows has these. */
const BADMINTON_SHOT = /^(?:clear|net[ _-]shot)$/i;

/** @returns a shot of badminton, where that is not what is reported: there, rallies end otherwise. */
function strangeShot({ tally, lines }: Content): string | undefined {
  if (isRallyOverAtLanding(lines)) return undefined;
  const shots = tally.players
    .entries()
    .flatMap(([, player]) => player.strokes.entries().map(([shot]) => shot));
  return shots.find((shot) => BADMINTON_SHOT.test(shot));
}

function summary(content: Content): Html[] {
  const { line, tally } = content;
  const strange = strangeShot(content);
  const { firstMs = 0, lastMs = 0, byType, rallyLengths, longestRally } = tally;
  const at = clock(firstMs, lastMs);
  const all = tally.players.entries().map(([id]) => id);
  const named = all.filter((id) => id !== NO_PLAYER && id !== OTHER_PLAYERS);
  const tiles: [label: string, value: string, note: string][] = [
    ['Time', duration(lastMs - firstMs), `${at(firstMs)} to ${at(lastMs)}`],
    [
      'Shots',
      number(byType.get('BALL_HIT') ?? 0),
      `${all.includes(OTHER_PLAYERS) ? 'more than ' : ''}${count(named.length, 'player')}`,
    ],
    ['Rallies', number(rallyLengths.total), `mean length ${meanLength(tally)}`],
    [
      'Longest rally',
      longestRally === undefined ? '–' : count(longestRally.hits, 'shot'),
      longestRally === undefined ? '' : `began ${at(longestRally.startMs)}`,
    ],
  ];
  const facts: [string, string][] = [
    ['Court', `${namesOf(tally.courts)}, venue ${namesOf(tally.venues)}`],
    [
      'Events',
      `${number(tally.current)}, each at its highest revision; ${number(tally.events)} with every revision`,
    ],
    [
      'Sent again',
      `${number(line.duplicates)}${line.conflicts > 0 ? `; ${count(line.conflicts, 'event')} with different content` : ''}`,
    ],
  ];
  if (strange !== undefined)
    facts.push([
      'Court lines',
      `“${shotName(strange)}” is a shot of badminton. If it was played, “courtd report --court-lines badminton” draws its court, and ends a rally with any landing.`,
    ]);
  if (tally.erased > 0)
    facts.push([
      'Erased',
      `Who was erased from this session has a random name, “erased-…”, and ${count(tally.positionsErased, 'position')} ${tally.positionsErased === 1 ? 'says' : 'say'} nothing any more.`,
    ]);
  if (tally.clockOffsets.size > 0)
    facts.push(['Wrong clocks', `${clockNotes(tally)}: their times are corrected on this page.`]);
  return [
    html`<dl class="tiles">${tiles.map(([label, value, note]) => html`<div><dt>${label}</dt><dd><b>${value}</b><span>${note}</span></dd></div>`)}</dl>\n`,
    all.length === 0 ? nothing('No player, hit or landing in this session.') : playersTable(content),
    html`<dl class="facts">${facts.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>\n`,
  ];
}

const seconds = (ms: number) => `${ms / 1_000} s`;

function meanLength({ rallyLengths }: SessionTally): string {
  const hits = rallyLengths.entries().reduce((sum, [length, times]) => sum + length * times, 0);
  return rallyLengths.total === 0 ? '–' : `${number(hits / rallyLengths.total, 1)} shots`;
}

function rallies({ tally, lines }: Content): Html[] {
  const { rallyLengths } = tally;
  if (rallyLengths.total === 0) return [nothing('No hits in this session.')];
  const ended = tally.players.entries().flatMap(([id, { ended }]) => {
    const all = Object.values(ended).reduce((sum, times) => sum + times, 0);
    return all === 0 ? [] : [[playerName(id), all, ...Object.values(ended)]];
  });
  const total = `${number(rallyLengths.total)} ${rallyLengths.total === 1 ? 'rally' : 'rallies'}`;
  const options = {
    title: 'Length',
    of: 'rallies',
    unit: 'shots',
    noun: 'shot',
    total,
    widths: [1, 2, 5, 10, 50],
  };
  const lengths = rallyLengths.entries().map(([length, times]) => [String(length), times]);
  return [
    html`<div class="pair">\n${table(['Last shot by', 'rallies', 'in', 'out', 'not judged', 'landing not seen'], ended)}\n`,
    html`<div class="charts">${histogram(rallyLengths, options)}</div>\n</div>\n`,
    numbers('rallies by length', table(['Shots', 'rallies'], lengths)),
    html`<p class="note">A last shot that was in won the rally, one that was out lost it; of the others the events do not tell. A rally is over ${isRallyOverAtLanding(lines) ? 'with a landing' : 'with a landing that was out, the second bounce of a ball'} or ${seconds(FLIGHT_MS)} without hit or bounce.${isRallyOverAtLanding(lines) ? '' : ' A first service that was out counts as a rally.'}</p>\n`,
  ];
}

/** @returns the small print: whose a landing and a speed is, what the maps show, and what they do not. */
function method({ tally, frame, lines, outside }: Content): Html[] {
  const at = clock(tally.firstMs ?? 0, tally.lastMs ?? 0);
  const landings = (tally.byType.get('BALL_BOUNCE') ?? 0) - tally.secondBounces;
  const left = [
    [tally.speedsLeftOut, 'speed', `below 0, above ${number(SPEED_MAX_KMH)} km/h or without kmh`],
    [tally.positionsLeftOut, 'position', 'without x_ft or y_ft'],
    [tally.bouncesWithoutPlace, 'bounce', 'without x_ft or y_ft, which are only counted'],
    [tally.secondBounces, 'further bounce', `of a ${ballOf(lines)} that had landed`],
  ] as const;
  const leftOut = left
    .filter(([times]) => times > 0)
    .map(([times, noun, why]) => `${count(times, noun)} ${why}`);
  const has = (type: EventType) => tally.byType.has(type);
  const sentences: [what: string, how: string][] = [
    [
      'Whose shot',
      `A landing or a speed is of the player and the shot that it names. Where it names none, it is that of the last hit on its court, up to ${seconds(FLIGHT_MS)} before; a hit lands once. What follows no hit, and what a hit without player_id did, is under “${playerName(NO_PLAYER)}”.`,
    ],
  ];
  if (has('BALL_SPEED')) sentences.push(['Speeds', speedsOf(tally, lines)]);
  if (has('PLAYER_POSITION')) {
    sentences.push([
      'Distance run',
      `The straight ways between a player’s positions, where they are at most ${seconds(POSITIONS_APART_MS)} apart. A way counts once it is ${STEP_FT} ft long, measured from where the last one ended, so that small errors of a camera add nothing; larger ones do, also while a player stands still. A jump of more than ${STEP_FT} ft and 12 m/s is another player, and left out.`,
    ]);
  }
  if (has('PLAYER_POSITION') || has('BALL_BOUNCE')) {
    sentences.push([
      'Maps',
      `${seen(frame, lines)} A square of “stood” is 2 ft wide: the stronger its colour, the more often the player was seen in it. Where a map has more than ${POINTS_DRAWN} landings, a mark represents all of a square: the larger, the more. A player has maps of at most ${MAPS_DRAWN} shot types, those with the most landings.`,
    ]);
  }
  if (leftOut.length > 0) sentences.push(['Left out', `${leftOut.join('; ')}.`]);
  return [
    html`<dl class="facts">${sentences.map(([what, how]) => html`<div><dt>${what}</dt><dd>${how}</dd></div>`)}</dl>\n`,
    ...outsideList(outside, at),
    ...preliminaryList(tally.preliminary, landings, at),
  ];
}

/** @returns whose speed one is that has the time of a hit, where there are such, and what a median is. */
function speedsOf(tally: SessionTally, lines: CourtName): string {
  const { speedsAtHits, areSpeedsAtHits } = tally.rallies;
  const whose = areSpeedsAtHits
    ? 'that hit’s, since in this session the first hits of rallies have such speeds, too, and they end no flight'
    : 'that of the hit before it, whose flight it ends: in this session the first hits of rallies have no such speeds, or hardly any';
  const sameTime = speedsAtHits === 0 ? '' : `A speed of the same time as a hit is ${whose}. `;
  return `${earlySpeeds(tally)}${sameTime}Half of the ${ballOf(lines)}s were slower than the median.`;
}

/** Of all speeds: that many a moment before a hit are no chance. */
const EARLY_SHARE = 0.25;

/** @returns a warning where speeds may be of the hit behind them; empty where there is no reason for one. */
function earlySpeeds({ rallies: { speedsBeforeHits }, byType }: SessionTally): string {
  const speeds = byType.get('BALL_SPEED') ?? 0;
  return speedsBeforeHits <= EARLY_SHARE * speeds
    ? ''
    : `${number(speedsBeforeHits)} of ${count(speeds, 'speed')} come at most ${BEFORE_HIT_MS} ms before a hit, and count for the hit before it: if the camera measures at the hit, but stamps the speed too early, they are of the other player. `;
}

/** @returns a sentence about what the maps show. */
function seen(frame: MapFrame, lines: CourtName): string {
  if (frame.court === undefined)
    return `No court lines: x from ${frame.x1} to ${frame.x2} ft, y from ${frame.y1} to ${frame.y2} ft.`;
  const { width, length } = frame.court;
  const size = `${capital(lines)} lines, ${number(width, width % 1 ? 1 : 0)} by ${number(length, length % 1 ? 1 : 0)} ft.`;
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
  const rows = listed.map(({ playerId, shotType, x, y, verdict, eotMs, eventId }) => [
    at(eotMs),
    playerName(playerId ?? NO_PLAYER),
    shotName(shotType ?? NO_SHOT_TYPE),
    coordinate(x),
    coordinate(y),
    verdict,
    shortName(eventId),
  ]);
  const list = table(['Time', 'Player', 'Shot', 'x, ft', 'y, ft', 'Judged', 'event_id'], rows);
  return rows.length > LIST_OPEN ? numbers('these landings', list) : list;
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

/** @param landings how many there are in all. */
function preliminaryList(preliminary: LandingList, landings: number, at: (ms: number) => string): Html[] {
  const { total } = preliminary;
  if (total === 0) return [];
  // No camera of the session revises landings: a list of them all would say no more.
  if (total === landings) {
    return [
      html`<p class="note">Every landing stayed preliminary: no later revision has confirmed or corrected one.</p>\n`,
    ];
  }
  return [
    html`<h3>Preliminary</h3>\n<p>${number(total)} of ${count(landings, 'landing')} stayed preliminary: no later revision has confirmed or corrected them.${firstOf(preliminary)}</p>\n`,
    listOf(preliminary, at),
  ];
}

function rate({ tally }: Content): Html[] {
  const { timeline } = tally;
  const minutes = timeline.steps.map(({ at, counts }) => [
    number((at * timeline.stepMs) / 60_000),
    ...EVENT_TYPES.map((type) => counts.get(type) ?? 0),
  ]);
  const step = timeline.stepMs === 60_000 ? 'a minute' : duration(timeline.stepMs);
  return [
    html`<div class="charts">${EVENT_TYPES.map((type) =>
      (tally.byType.get(type) ?? 0) > 0
        ? rateFigure(type, timeline)
        : html`<figure class="empty">${nothing(`No ${TYPES[type].title.toLowerCase()} in this session.`)}</figure>`,
    )}</div>\n`,
    numbers(
      'events a minute',
      table(['From minute', ...EVENT_TYPES.map((type) => TYPES[type].title.toLowerCase())], minutes),
    ),
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
  return [table(['Type', 'preliminary', 'median before', 'revised', 'median after'], rows)];
}

function technician({ tally }: Content): Html[] {
  const { pauses, firstMs = 0, lastMs = 0 } = tally;
  const early = earlySpeeds(tally).trimEnd();
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
    early === '' ? html`` : html`<p class="note">${early}</p>\n`,
    html`<h3>Pauses</h3>\n`,
    longest.length === 0
      ? nothing(`At no time ${duration(PAUSE_LEAST_MS)} or more without an event.`)
      : html`<p>${count(pauses.total, 'time')} of ${duration(PAUSE_LEAST_MS)} or more without an event${pauses.total > longest.length ? `; the longest ${longest.length}` : ''}. Shorter ones are usual between rallies and games.</p>\n${table(['From', 'to', 'length'], longest)}`,
  ];
}
