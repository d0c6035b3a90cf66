import os from 'node:os';
import { bytesFor, counted, shortAgo, shortSpan, span } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import type { StatusProblem } from '../../health/finding.ts';
import type { Status, StatusReport } from '../../health/status.ts';
import { type Canvas, cut, fit, lengthOf, type Style, styled, wrap } from '../terminal/style.ts';
import { drawSources, sourcesByUrgency } from './sources.ts';

const DAY_S = 86_400;
const TITLES: Record<Status['state'], readonly [string, Style]> = {
  ok: ['all is well', 'good'],
  attention: ['something needs attention', 'warn'],
  failing: ['something is wrong', 'fail'],
  stopped: ['the daemon does not run', 'fail'],
};

/**
 * The status as lines for people: what is wrong and what to do stands first. Where the rows do not hold it all, sentences are cut to
 * one line each before anything is left out.
 * @param scroll so many sources are left out at the top, where there are more than fit.
 */
export function drawStatus(report: StatusReport, canvas: Canvas, nowMs: number, scroll?: number): string[] {
  const { status } = report;
  const head = [title(status, canvas, nowMs)];
  const box = boxLines(status, canvas, nowMs);
  const table = drawSources(sourcesByUrgency(report), canvas, nowMs);
  const whole = problemLines(status.problems, canvas, false);
  const { rows } = canvas;
  const besides = head.length + box.length + 1;
  // The last row is for the prompt, or for the keys.
  const room = (rows ?? Number.POSITIVE_INFINITY) - 1 - besides;
  if (whole.length + table.length <= room) return [...head, ...whole, ...box, '', ...table];
  const short = problemLines(status.problems, canvas, true);
  if (scroll === undefined) {
    const problems = short.length + table.length <= room ? short : whole;
    return [...head, ...problems, ...box, '', ...table];
  }
  // In place: the problems have half of the rows at most, and the sources scroll in what is left.
  const some = fitProblems(short, Math.max(2, Math.floor((rows ?? 24) / 2) - 1), canvas);
  return [...head, ...some, ...box, '', ...windowOf(table, room - some.length, scroll, canvas)];
}

function fitProblems(lines: readonly string[], room: number, canvas: Canvas): readonly string[] {
  if (lines.length <= room) return lines;
  const fits = Math.max(0, Math.floor((room - 1) / 2) * 2);
  const rest = `  and ${(lines.length - fits) >> 1} more: "courtd status | less" shows all`;
  return [...lines.slice(0, fits), fit(rest, canvas)];
}

function windowOf(table: readonly string[], room: number, scroll: number, canvas: Canvas): readonly string[] {
  const [headings = '', ...lines] = table;
  const fits = Math.max(1, room - 1);
  if (lines.length <= fits) return table;
  const from = Math.min(scroll, lines.length - (fits - 1));
  const shown = lines.slice(from, from + fits - 1);
  const place = `  ${from + 1} to ${from + shown.length} of ${lines.length}: the arrows scroll`;
  return [headings, ...shown, fit(place, canvas)];
}

function title({ state, problems }: Status, canvas: Canvas, nowMs: number): string {
  const [words, style] = TITLES[state];
  const count = problems.length === 0 ? '' : ` (${counted(problems.length, 'problem')})`;
  const host = visible(os.hostname());
  const time = new Date(nowMs).toLocaleTimeString('sv-SE');
  const columns = canvas.columns ?? Number.POSITIVE_INFINITY;
  // How it is matters more than where and when.
  const told = `${words}${count}`;
  const texts = [`courtd on ${host}, ${time}: ${told}`, `${host}: ${told}`, told];
  const text = texts.find((text) => lengthOf(text) <= columns) ?? told;
  return styled(fit(text, canvas), style, canvas);
}

const INDENT = 4;

function problemLines(problems: readonly StatusProblem[], canvas: Canvas, isShort: boolean): string[] {
  const width = (canvas.columns ?? Number.POSITIVE_INFINITY) - INDENT;
  const lines = (text: string) => (isShort ? [text] : wrap(text, width)).map((line) => cut(line, width));
  return problems.flatMap(({ level, message, advice }) => {
    const mark = level === 'fail' ? '!!' : ' !';
    const indented = (text: string, i: number, first: string) => `${i === 0 ? first : '    '}${text}`;
    return [
      ...lines(visible(message)).map((text, i) => styled(indented(text, i, `${mark}  `), level, canvas)),
      ...lines(visible(advice)).map((text, i) => indented(text, i, ' -> ')),
    ];
  });
}

function boxLines(status: Status, canvas: Canvas, nowMs: number): string[] {
  const { daemon, store, tokens, rates } = status;
  const ago = (time: string) => span(Math.max(0, (nowMs - Date.parse(time)) / 1_000));
  const number = (count: number | null) => (count === null ? '-' : count.toLocaleString('en'));
  const running = daemon.running && daemon.started_at !== null;
  const days = store.days_left === null ? '' : ` (${shortSpan(store.days_left * DAY_S)})`;
  const backup =
    store.last_backup_at === null ? 'no backup' : `backup ${shortAgo(store.last_backup_at, nowMs)} ago`;
  const lines = [
    running
      ? `daemon  ${daemon.listening}${daemon.tls ? ' (TLS)' : ''}, version ${daemon.version}, up ${ago(daemon.started_at!)}; ` +
        `${tokens.active === null ? '- tokens' : counted(tokens.active, 'token')}${tokens.retiring ? `, ${tokens.retiring} retiring` : ''}`
      : `daemon  ${daemon.running ? 'does not answer' : 'stopped'}; what follows is from the database`,
    ...(running
      ? [
          `events  ${perSecond(rates.events_last_minute, daemon.started_at!, nowMs)}/s, ${number(rates.events_last_minute)}/min, ` +
            `${number(rates.events_last_hour)}/h, ${number(rates.events_last_day)}/day; refused ${number(rates.refused_last_minute)} of ` +
            `${number(rates.requests_last_minute)} requests/min`,
        ]
      : []),
    // What a narrow terminal cuts off is what matters least.
    `store   ${bytesFor(store.free_bytes)} free${days}; ${backup}; ` +
      `${number(store.events)} ${store.events === 1 ? 'event' : 'events'} in ${store.sessions === null ? '- sessions' : counted(store.sessions, 'session')}, ${bytesFor(store.bytes)}`,
    ...shipLines(status.ship),
  ];
  return lines.map(visible).map((line) => fit(line, canvas));
}

function shipLines(ship: Status['ship']): string[] {
  if (ship === null) return [];
  const { state, url, shipped_seq, behind_events } = ship;
  const behind = behind_events ? `, ${behind_events.toLocaleString('en')} events behind` : '';
  return [
    `ship    ${state}: ${url ?? '-'}${shipped_seq === null ? '' : `, up to seq ${shipped_seq}`}${behind}`,
  ];
}

/** Of the last minute, or of what there was of it since the start. */
function perSecond(lastMinute: number | null, startedAt: string, nowMs: number): string {
  if (lastMinute === null) return '-';
  const seconds = Math.min(60, Math.max(1, (nowMs - Date.parse(startedAt)) / 1_000));
  const rate = lastMinute / seconds;
  return rate < 10 ? rate.toFixed(1) : Math.round(rate).toLocaleString('en');
}
