import type { Bins } from '../../base/bins.ts';
import { count, type Html, html, number, percent, shortName, table } from '../../base/html.ts';
import type { CourtFrame, LandingMap } from '../analysis/places.ts';
import { NO_PLAYER, OTHER_PLAYERS, type PlayerTally } from '../analysis/playerTally.ts';
import type { SessionTally } from '../analysis/sessionTally.ts';
import { histogram } from './charts.ts';
import { landingFigure, positionFigure } from './maps.ts';

/** At most this many shot types of a player have a map of their own: those with the most landings. */
export const MAPS_DRAWN = 12;
/** Fewer are shown as they are: a percentage of four says more than it knows. */
const PERCENT_LEAST = 5;
/** The widths of a bar in the histogram of speeds, in km/h. */
const SPEED_WIDTHS = [2, 5, 10, 25] as const;

export interface Section {
  readonly id: string;
  readonly heading: string;
  readonly body: Html | readonly Html[];
}

/** @returns a section for each player, and one for what names none. */
export function playerSections(tally: SessionTally): Section[] {
  const { frame } = tally;
  return tally.players.entries().map(([id, player], i) => {
    const name = playerName(id);
    return { id: `player-${i + 1}`, heading: name, body: playerBody(name, player, tally, frame) };
  });
}

/** @returns a player as the page names them. */
export function playerName(id: string): string {
  if (id === NO_PLAYER) return 'Player not known';
  if (id === OTHER_PLAYERS) return 'Other players';
  return shortName(id);
}

/** @returns a shot type as people write it: "net shot" for net_shot. */
export function shotName(shotType: string): string {
  return shortName(shotType.replaceAll('_', ' '));
}

/** @returns what each player did, a row for each. */
export function playersTable({ players }: SessionTally): Html {
  const rows = players.entries().map(([id, player]) => {
    const { speeds, hits, won } = player;
    return [playerName(id), hits, inShare(player.landings), kmh(speeds, 0.5), kmh(speeds, 1), won];
  });
  return table(['Player', 'shots', 'in', 'median km/h', 'fastest km/h', 'rallies won'], rows);
}

/** @returns how many of the judged landings were in: "73 % of 22", "3 of 4". */
function inShare({ counts }: LandingMap): string {
  const judged = counts.in + counts.out;
  if (judged === 0) return '–';
  const part = judged < PERCENT_LEAST ? counts.in : percent(counts.in, judged);
  return `${part} of ${number(judged)}`;
}

function kmh(speeds: Bins, part: number): string {
  const speed = speeds.quantile(part);
  return speed === undefined ? '–' : number(speed);
}

function playerBody(name: string, player: PlayerTally, tally: SessionTally, frame: CourtFrame): Html[] {
  const { landings, positions, speeds } = player;
  const strokes = player.strokes.entries();
  if (strokes.length === 0 && positions.total === 0)
    return [nothing('No hits, landings, speeds or positions of this player.')];
  const rows = strokes.map(([shotType, stroke]) => {
    const { hits, speeds } = stroke;
    return [shotName(shotType), hits, inShare(stroke.landings), kmh(speeds, 0.5)];
  });
  const landed = strokes.filter(([, { landings }]) => landings.total > 0);
  const most = landed.toSorted(([, a], [, b]) => b.landings.total - a.landings.total).slice(0, MAPS_DRAWN);
  const maps = landed
    .filter((stroke) => most.includes(stroke))
    .map(([shotType, { landings: map }]) => {
      const title = shotName(shotType);
      return landingFigure(title, `${title} of ${name}`, map, frame, 'stroke');
    });
  const total = count(speeds.total, 'speed');
  const ball = tally.endsAtLanding ? 'Shuttle' : 'Ball';
  const ofSpeeds = { title: `${ball} speed`, of: name, unit: 'km/h', total, widths: SPEED_WIDTHS };
  const note = 'A landing ends the rally: “in” is of the shots that were the last of one.';
  return [
    html`<div class="pair">\n<div>`,
    rows.length === 0
      ? nothing('No hits of this player.')
      : table(['Shot', 'shots', 'in', 'median km/h'], rows),
    tally.endsAtLanding && landings.total > 0 ? html`\n<p class="note">${note}</p>` : html``,
    speeds.total === 0 ? html`` : html`\n<div class="charts">${histogram(speeds, ofSpeeds)}</div>`,
    html`</div>\n<div>${landings.total === 0 ? '' : legend(landings.counts['not judged'] > 0)}<div class="maps">`,
    landings.total === 0
      ? html``
      : landingFigure('Where the shots landed', `the shots of ${name}`, landings, frame, 'player'),
    positions.total === 0 ? html`` : positionFigure(name, positions, frame),
    html`</div>\n</div>\n</div>\n`,
    // One map would be that of all shots once more.
    html`<div class="strokes">${maps.length > 1 ? maps : []}</div>\n`,
  ];
}

/** @returns a sentence in the place of an empty figure. */
export function nothing(sentence: string): Html {
  return html`<p class="nothing">${sentence}</p>\n`;
}

/** @returns the legend of the marks; the same everywhere. */
function legend(hasNotJudged: boolean): Html {
  return html`<p class="legend"><span class="in">in</span> <span class="out">out</span>${hasNotJudged ? html` <span class="ring">not judged</span>` : ''}</p>\n`;
}
