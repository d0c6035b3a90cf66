import { hash } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import { count, Html, html, localDay, zoneSentence } from '../../base/html.ts';
import { DAY_MS, NS_PER_MS } from '../../base/units.ts';
import { courtdVersion } from '../../base/version.ts';
import type { CourtName } from '../../protocol/courtLines.ts';
import { eotToNs } from '../../protocol/eot.ts';
import type { Damage } from '../../store/read/damage.ts';
import { type EventFilter, readSession } from '../../store/read/sessionReader.ts';
import { type SessionLine, sessionLine } from '../../store/read/sessions.ts';
import { SessionTally } from '../analysis/sessionTally.ts';
import { type Content, namesOf, sectionsOf } from './sections.ts';
import { STYLE } from './styleSheet.ts';

/**
 * Reads a session once, or twice if its events are more than a day apart.
 * @param id of a session with events.
 * @param damage takes the damaged events, which are left out.
 * @returns the page.
 */
export function reportOf(db: Database, id: number, lines: CourtName, damage: Damage): string {
  const line = sessionLine(db, id);
  const { range, all } = rangeOf(db, id, line);
  const tally = new SessionTally(lines);
  for (const events of readSession(db, id, range, damage).chunks)
    for (const event of events) tally.add(event);
  tally.end();
  return pageOf({ line, tally, oddTimes: Math.max(0, (all ?? tally.events) - tally.events) });
}

/** A camera without a clock battery says 1970 until NTP answers. @returns a day on both sides of the median eot, and how many events there are in all. */
function rangeOf(db: Database, id: number, line: SessionLine): { range: EventFilter; all?: number } {
  const [firstNs, lastNs] = [line.first_eot, line.last_eot].map((eot) => eotToNs(eot ?? ''));
  const dayNs = BigInt(DAY_MS) * NS_PER_MS;
  if (firstNs === undefined || lastNs === undefined || lastNs - firstNs <= dayNs) return { range: {} };
  const times: number[] = [];
  for (const events of readSession(db, id).chunks) for (const { eotMs } of events) times.push(eotMs);
  const medianNs = BigInt(times[Math.floor(times.length / 2)] ?? 0) * NS_PER_MS;
  return { range: { from: medianNs - dayNs, to: medianNs + dayNs + 1n }, all: times.length };
}

/** Nothing is loaded and nothing runs: the page may be opened from a USB stick, and its content was sent by cameras. */
const POLICY = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; base-uri 'none'; form-action 'none'`;

/** @returns the report as one HTML document that needs no other file. */
export function pageOf(content: Content): string {
  const { line, tally } = content;
  const days = new Set([tally.firstMs, tally.lastMs].map(localDay));
  const title = `${namesOf(tally.courts)} · ${[...days].join(' to ')}`;
  const sections = sectionsOf(content).map(
    ({ id, heading, body }) =>
      html`<section id="${id}" aria-labelledby="${id}-heading">\n<h2 id="${id}-heading">${heading}</h2>\n${body}</section>\n`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<header>
<h1>${title}</h1>
<p>Session ${line.session_id}</p>
</header>
<main>
${sections}</main>
<footer>Made by courtd ${courtdVersion()} from ${count(tally.events, 'stored event')} of this session. ${zoneSentence()}.</footer>
</body>
</html>
`.text;
}
