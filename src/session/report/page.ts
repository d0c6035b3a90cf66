import { hash } from 'node:crypto';
import { count, Html, html, localDay, zoneSentence } from '../../base/html.ts';
import { courtdVersion } from '../../base/version.ts';
import { type Content, namesOf, sectionsOf } from './sections.ts';
import { STYLE } from './styleSheet.ts';

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
