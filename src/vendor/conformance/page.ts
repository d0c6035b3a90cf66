import { Html, html, table } from '../../base/html.ts';
import type { Check, ShownRequest, Verdict } from './judge.ts';

/** The verdict as a page to print: one file, without scripts or other resources. */

/** The title of each check, in the order of the checks. */
const TITLES: Readonly<Record<Check['name'], string>> = {
  same_event_id: 'Resends with the same event_id',
  same_content: 'Resends the same content',
  waits_as_told: 'Waits as long as Retry-After says',
  backs_off: 'Backs off without being told',
  batches: 'Sends batches under load',
  raises_revision: 'Raises revision on a correction',
  true_eot: 'Sends eot with an offset, by a true clock',
  token_not_in_url: 'Keeps the token out of the URL',
  gives_up_on_400: 'Gives up on a 400 instead of looping',
  splits_on_413: 'Answers a 413 with smaller batches',
  keeps_connections: 'Keeps connections open',
  loses_nothing: 'Loses nothing',
};

/** Distinguished by more than colour. */
const MARKS = { pass: '✓ pass', fail: '✗ fail', 'not seen': '– not seen' } as const;

const STYLE = new Html(`
  :root { color-scheme: light dark; }
  body { font: 15px/1.45 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.5rem; margin-bottom: 0; }
  .sum { font-size: 1.15rem; border: 2px solid; padding: .6rem .9rem; margin: 1rem 0; }
  section { border-top: 1px solid #8888; padding: .6rem 0; break-inside: avoid; }
  h2 { font-size: 1rem; margin: 0; display: flex; justify-content: space-between; gap: 1rem; }
  p { margin: .2rem 0; }
  .scroll { overflow-x: auto; }
  table { border-collapse: collapse; font-size: .8rem; margin-top: .3rem; }
  th, td { text-align: left; padding: .1rem .8rem .1rem 0; white-space: nowrap; font-weight: normal; }
  thead { opacity: .7; }
  .fail h2 { font-weight: 800; }
  @page { size: A4; margin: 15mm; }
  @media print { body { margin: 0; max-width: none; font-size: 11pt; } }`);

/** @param at when it was made. */
export function verdictPage({ certificate, checks }: Verdict, at: Date): string {
  const sum = certificate
    ? 'Certificate: this camera has passed every check.'
    : `No certificate: ${countOf(checks, 'fail')} failed, ${countOf(checks, 'not seen')} not seen.`;
  const sources = [...new Set(checks.flatMap(({ requests }) => requests.map(({ source }) => source)))];
  const names = sources.filter((source) => source !== null).join(', ');
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>courtd conformance</title>
<style>${STYLE}
</style>
</head>
<body>
<h1>courtd conformance</h1>
<p>${at.toISOString()}${names === '' ? '' : `, of ${names}`}</p>
<p class="sum">${sum}</p>
${checks.map(sectionOf)}</body>
</html>
`.text;
}

function sectionOf({ name, verdict, message, requests }: Check): Html {
  return html`<section class="${verdict === 'fail' ? 'fail' : ''}">
<h2><span>${TITLES[name]} <small>(${name})</small></span><span>${MARKS[verdict]}</span></h2>
<p>${message}</p>
${requests.length === 0 ? '' : table(HEADINGS, requests.map(rowOf))}</section>
`;
}

const HEADINGS = [
  'request',
  'at (UTC)',
  'connection',
  'source',
  'events',
  'answer',
  'Retry-After',
  'on purpose',
];

function rowOf(request: ShownRequest): (string | number)[] {
  const { number, connection, at, source, events, status, retry_after_s, injected_fault } = request;
  const fault = injected_fault?.replaceAll('_', ' ') ?? '';
  const answer = [status ?? 'none', retry_after_s ?? '', fault];
  return [number, at.slice(11, 23), connection, source ?? '', events, ...answer];
}

function countOf(checks: readonly Check[], verdict: Check['verdict']): number {
  return checks.filter((check) => check.verdict === verdict).length;
}
