import { clock, count, type Html, html, number, shortName, table } from '../../base/html.ts';
import { span } from '../../base/units.ts';
import { COURTS } from '../../protocol/courtLines.ts';
import type { SessionLine } from '../../store/read/sessions.ts';
import type { NamedTallies } from '../analysis/namedTallies.ts';
import { POINTS_DRAWN } from '../analysis/places.ts';
import { OTHER_PLAYERS } from '../analysis/playerTally.ts';
import { FLIGHT_MS } from '../analysis/rallies.ts';
import { type SessionTally, SPEED_MAX_KMH } from '../analysis/sessionTally.ts';
import { histogram, timelineFigure } from './charts.ts';
import {
  MAPS_DRAWN,
  nothing,
  playerName,
  playerSections,
  playersTable,
  type Section,
  shotName,
} from './playerSections.ts';

/** The input of the page. */
export interface Content {
  readonly line: SessionLine;
  readonly tally: SessionTally;
  /** Events whose eot is more than a day from the median. */
  readonly oddTimes: number;
}

const FLIGHT = `${FLIGHT_MS / 1_000} s`;
const RALLY_WIDTHS = [1, 2, 5, 10, 50] as const;

/** @returns always these, in this order, so that reports can be compared. */
export function sectionsOf(content: Content): Section[] {
  return [
    { id: 'summary', heading: 'Summary', body: summary(content) },
    { id: 'rallies', heading: 'Rallies', body: rallies(content) },
    ...playerSections(content.tally),
    { id: 'method', heading: 'How this page counts', body: facts(method(content)) },
  ];
}

/** @returns the names of a kind, in one line. */
export function namesOf(names: NamedTallies<null>): string {
  return names
    .entries()
    .map(([name]) => shortName(name))
    .join(', ');
}

function facts(rows: readonly (readonly [string, string])[]): Html {
  return html`<dl class="facts">${rows.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>\n`;
}

/** No other sport that courtd knows has these. */
const BADMINTON_SHOT = /^(?:clear|net[ _-]shot)$/i;

function summary({ line, tally, oddTimes }: Content): Html[] {
  const { firstMs, lastMs, shotMinutes, rallyLengths, longestRally, players } = tally;
  const at = clock(firstMs, lastMs);
  const others = players.entries().some(([id]) => id === OTHER_PLAYERS) ? 'more than ' : '';
  const mean = rallyLengths.total === 0 ? '–' : `${number(shotMinutes.total / rallyLengths.total, 1)} shots`;
  const longest =
    longestRally && ([count(longestRally.hits, 'shot'), `began ${at(longestRally.startMs)}`] as const);
  const tiles: [label: string, value: string, note: string][] = [
    ['Time', span((lastMs - firstMs) / 1_000), `${at(firstMs)} to ${at(lastMs)}`],
    ['Shots', number(shotMinutes.total), `${others}${count(tally.named.length, 'player')}`],
    ['Rallies', number(rallyLengths.total), `mean length ${mean}`],
    ['Longest rally', ...(longest ?? (['–', ''] as const))],
  ];
  const shots = players.entries().flatMap(([, { strokes }]) => strokes.entries().map(([shot]) => shot));
  const strange = tally.endsAtLanding ? undefined : shots.find((shot) => BADMINTON_SHOT.test(shot));
  const conflicts = line.conflicts > 0 ? `; ${count(line.conflicts, 'event')} with different content` : '';
  const rows: [string, string][] = [
    ['Court', `${namesOf(tally.courts)}, venue ${namesOf(tally.venues)}`],
    ['Events', `${number(tally.current)}, and ${number(tally.events)} with every revision`],
    ['Sent again', `${number(line.duplicates)}${conflicts}`],
  ];
  if (oddTimes > 0)
    rows.push(['Odd times', `${count(oddTimes, 'event')} more than a day from the others: left out.`]);
  if (strange !== undefined)
    rows.push([
      'Court lines',
      `“${shotName(strange)}” is a shot of badminton. “courtd report --court-lines badminton” draws its court, and ends a rally with any landing.`,
    ]);
  return [
    html`<dl class="tiles">${tiles.map(([label, value, note]) => html`<div><dt>${label}</dt><dd><b>${value}</b><span>${note}</span></dd></div>`)}</dl>\n`,
    players.entries().length === 0
      ? nothing('No player, hit or landing in this session.')
      : playersTable(tally),
    facts(rows),
  ];
}

function rallies({ tally }: Content): Html[] {
  const { rallyLengths, players, endsAtLanding, shotMinutes } = tally;
  if (rallyLengths.total === 0) return [nothing('No hits in this session.')];
  const ended = players.entries().flatMap(([id, { ended }]) => {
    const all = Object.values(ended).reduce((sum, times) => sum + times, 0);
    return all === 0 ? [] : [[playerName(id), all, ...Object.values(ended)]];
  });
  const total = `${number(rallyLengths.total)} ${rallyLengths.total === 1 ? 'rally' : 'rallies'}`;
  const title = { title: 'Length', of: 'rallies', unit: 'shots', noun: 'shot' };
  const end = endsAtLanding ? 'a landing' : 'a landing that was out, the second bounce of a ball';
  const service = endsAtLanding ? '' : ' A first service that was out counts as a rally.';
  return [
    table(['Last shot by', 'rallies', 'in', 'out', 'not judged', 'not seen'], ended),
    html`<p class="note">A last shot that was in won the rally. One that was out lost it to the player who hit before, or to the only other player. The events do not show who won the other rallies. A rally is over with ${end} or ${FLIGHT} without hit or bounce.${service}</p>\n`,
    html`<div class="charts">${histogram(rallyLengths, { ...title, total, widths: RALLY_WIDTHS })}${timelineFigure(shotMinutes)}</div>\n`,
  ];
}

/** @returns the small print: units, the players of landings and speeds, and the content of the maps. */
function method({ tally }: Content): [string, string][] {
  const court = COURTS[tally.lines];
  const size = (ft: number) => number(ft, ft % 1 ? 1 : 0);
  const drawn =
    court === undefined
      ? ''
      : `The ${tally.lines} court is ${size(court.width)} by ${size(court.length)} ft. x counts from the left side line, y from the near base line, which is at the bottom; the thick line is the net. `;
  const why = {
    speed: `below 0, above ${number(SPEED_MAX_KMH)} km/h or without kmh`,
    position: 'without x_ft or y_ft',
    bounce: 'without x_ft or y_ft, which are only counted',
    'further bounce': 'after a landing',
  };
  const leftOut = Object.entries(tally.leftOut).flatMap(([noun, times]) =>
    times > 0 ? `${count(times, noun)} ${why[noun as keyof typeof why]}` : [],
  );
  const rows: [string, string][] = [
    ['Units', '100 km/h is 62 mph, or 28 m/s. A foot (ft) is 0.30 m.'],
    [
      'Whose shot',
      `A landing or a speed is of the player and the shot that it names. If it names none, it is of the last hit on its court, up to ${FLIGHT} before; a hit lands once. The rest is under “Player not known”. Half of the speeds are below the median.`,
    ],
    [
      'Maps',
      `${drawn}A square of “stood” is 2 ft wide. A map draws the first ${number(POINTS_DRAWN)} landings. A player has maps of at most ${MAPS_DRAWN} shot types, those with the most landings.`,
    ],
  ];
  if (leftOut.length > 0) rows.push(['Left out', `${leftOut.join('; ')}.`]);
  return rows;
}
