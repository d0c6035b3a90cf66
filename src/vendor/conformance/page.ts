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
  gives_up_on_400: 'After a 400, drops what it names and sends the rest',
  splits_on_413: 'Answers a 413 with smaller batches',
  keeps_connections: 'Keeps connections open',
  survives_401: 'Keeps its events while the token is refused',
  payload_types: 'Sends each field of the payload in its type',
  loses_nothing: 'Loses nothing',
  survives_restart: 'Keeps its events while it is switched off',
};

/** Distinguished by more than colour. In the order of the page: what failed comes first, and then what nothing is known of. */
const MARKS = { fail: '✗ fail', untested: '– not tested', pass: '✓ pass' } as const;

const STYLE = new Html(`
  :root { color-scheme: light dark; }
  body { background: Canvas; color: CanvasText; font: 15px/1.45 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.5rem; margin-bottom: 0; }
  .sum { font-size: 1.15rem; border: 2px solid; padding: .6rem .9rem; margin: 1rem 0; }
  section { border-top: 1px solid #8888; padding: .6rem 0; margin-top: .6rem; break-inside: avoid; }
  h2 { font-size: 1rem; margin: 0; display: flex; justify-content: space-between; gap: 1rem; }
  h2 span + span { white-space: nowrap; }
  p { margin: .2rem 0; }
  .scroll { overflow-x: auto; }
  table { border-collapse: collapse; font-size: .8rem; margin-top: .3rem; }
  th, td { text-align: left; padding: .1rem .8rem .1rem 0; white-space: nowrap; font-weight: normal; }
  thead { opacity: .7; }
  .fail h2 { font-weight: 800; }
  @page { size: A4; margin: 15mm; }
  @media print { body { margin: 0; max-width: none; font-size: 11pt; } }`);

/** @param tested sentences that say who was tested, by which courtd and for how long. */
export function verdictPage({ certificate, checks }: Verdict, tested: readonly string[]): string {
  const failed = checks.filter(({ verdict }) => verdict === 'fail').map(({ name }) => name);
  const sum = certificate
    ? 'Certificate: this camera has passed every check.'
    : `No certificate${failed.length > 0 ? `. Failed: ${failed.join(', ')}` : ': what was not tested has not passed'}.`;
  const untested = checks.filter((check) => markOf(check) === MARKS.untested).map(({ name }) => name);
  if (checks.every(({ name }) => name !== 'survives_restart')) untested.push('survives_restart');
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
<p class="sum">${sum}</p>
${tested.map((sentence) => html`<p>${sentence}</p>\n`)}${untested.length === 0 ? '' : html`<p>Not tested: ${untested.join(', ')}.</p>\n`}
${Object.values(MARKS).map((mark) => checks.filter((check) => markOf(check) === mark).map(sectionOf))}</body>
</html>
`.text;
}

function sectionOf(check: Check): Html {
  const { name, verdict, message, requests } = check;
  return html`<section class="${verdict === 'fail' ? 'fail' : ''}">
<h2><span>${TITLES[name]} <small>(${name})</small></span><span>${markOf(check)}</span></h2>
<p>${message}</p>
${requests.length === 0 ? '' : table(HEADINGS, requests.map(rowOf))}</section>
`;
}

/** What is shown by no request was not tested. */
function markOf({ verdict, requests }: Check): string {
  if (verdict === 'fail') return MARKS.fail;
  return verdict === 'pass' && requests.length > 0 ? MARKS.pass : MARKS.untested;
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
