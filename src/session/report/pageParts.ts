import { type Html, html } from '../../base/html.ts';
import type { CourtName } from '../../protocol/courtLines.ts';
import type { SessionLine } from '../../store/read/sessions.ts';
import type { OutsideLandings } from '../analysis/landings.ts';
import type { MapFrame } from '../analysis/mapFrame.ts';
import type { SessionTally } from '../analysis/sessionTally.ts';

/** What the page is made of. */
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
  readonly body: Html | readonly Html[];
}

/** @returns what people hit there. */
export function ballOf(lines: CourtName): string {
  return lines === 'badminton' ? 'shuttle' : 'ball';
}

export function capital(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}`;
}

/** @returns a sentence instead of an empty figure. */
export function nothing(sentence: string): Html {
  return html`<p class="nothing">${sentence}</p>\n`;
}

/** @param of what the numbers are of. @returns the table behind a figure, closed. */
export function numbers(of: string, table: Html): Html {
  return html`<details><summary>The numbers: ${of}</summary>${table}</details>\n`;
}

/** @returns the legend of the marks; the same everywhere. */
export function legend(hasNotJudged: boolean): Html {
  return html`<p class="legend"><span class="in">in</span> <span class="out">out</span>${hasNotJudged ? html` <span class="ring">not judged</span>` : ''}</p>\n`;
}
