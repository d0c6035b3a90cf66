import os from 'node:os';
import { bytesFor, counted, shortAgo, shortSpan, span } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import type { Status } from '../../health/boxStatus.ts';
import { isClockOff } from '../../health/sourceProblems.ts';
import { hints } from '../terminal/output.ts';
import { type Canvas, cut, fit, padded, type Style, styled, wrap } from '../terminal/style.ts';

type Source = Status['sources'][number];

const TITLES: Record<Status['state'], readonly [string, Style]> = {
  ok: ['all is well', 'good'],
  attention: ['something needs attention', 'warn'],
  failing: ['something is wrong', 'fail'],
  stopped: ['the daemon does not run', 'fail'],
};

/** @returns the status as lines for people: problems with advice, the box, then one line per source, cut to the width. */
export function drawStatus(status: Status, canvas: Canvas, nowMs: number): string[] {
  const { state, problems, sources } = status;
  const [words, style] = TITLES[state] ?? TITLES.stopped;
  const count = problems.length === 0 ? '' : ` (${counted(problems.length, 'problem')})`;
  const time = new Date(nowMs).toLocaleTimeString('sv-SE');
  return [
    styled(fit(`courtd: ${words}${count}, ${time} on ${visible(os.hostname())}`, canvas), style, canvas),
    ...problems.flatMap((problem) => problemLines(problem, canvas)),
    '',
    ...boxLines(status, nowMs).map((line) => fit(visible(line), canvas)),
    '',
    ...sourceLines(sources, canvas, nowMs),
  ];
}

function problemLines({ level, message, advice }: Status['problems'][number], canvas: Canvas): string[] {
  const width = (canvas.columns ?? Number.POSITIVE_INFINITY) - 4;
  const lines = (text: string, mark: string) =>
    wrap(visible(text), width).map((line, i) => `${i === 0 ? mark : '    '}${cut(line, width)}`);
  return [
    ...lines(message, level === 'fail' ? '!!  ' : ' !  ').map((line) => styled(line, level, canvas)),
    ...lines(hints.complete(advice), ' -> '),
  ];
}

/** A narrow terminal cuts off the least important. */
function boxLines({ daemon, store, copy, ship, tokens, rates }: Status, nowMs: number): string[] {
  const number = (count: number | null) => count?.toLocaleString('en') ?? '-';
  const many = (count: number | null, noun: string) => `${number(count)} ${noun}${count === 1 ? '' : 's'}`;
  const bytes = (count: number | null) => (count === null ? '-' : bytesFor(count));
  const since = daemon.started_at === null ? '-' : span((nowMs - Date.parse(daemon.started_at)) / 1_000);
  const backup =
    store.last_backup_at === null ? 'no backup' : `last backup ${shortAgo(store.last_backup_at, nowMs)} ago`;
  const days = store.days_left === null ? '' : ` for ${counted(store.days_left, 'day')}`;
  return [
    daemon.listening === null
      ? `daemon  ${daemon.running ? 'does not answer' : 'stopped'}`
      : `daemon  ${daemon.listening}${daemon.tls ? ' (TLS)' : ''}, up ${since}, version ${daemon.version}, ` +
        `tokens ${number(tokens.active)} active, ${number(tokens.retiring)} retiring`,
    `events  ${number(rates.events_last_minute)}/min, ${number(rates.events_last_hour)}/h, ${number(rates.events_last_day)}/day, ` +
      `rejected ${number(rates.refused_last_minute)} of ${number(rates.requests_last_minute)} requests/min`,
    `store   ${bytes(store.free_bytes)} free${days}, ${backup}, ${many(store.events, 'event')}, ` +
      `${many(store.sessions, 'session')}, ${bytes(store.bytes)} with WAL`,
    ...(copy === null ? [] : [`copy    ${copy.place}, ${many(copy.behind_events, 'event')} behind`]),
    ...(ship === null
      ? []
      : [`ship    ${ship.state}, ${many(ship.behind_events, 'event')} behind, ${ship.url}`]),
  ];
}

interface Column {
  readonly heading: string;
  readonly width: number;
  readonly isText?: boolean;
  text(source: Source, nowMs: number): string;
  isAlarm?(source: Source): boolean;
}

/** Eighty columns show all but the last two. */
const COLUMNS: readonly Column[] = [
  {
    heading: 'STATE',
    width: 7,
    isText: true,
    text: ({ state }) => state,
    isAlarm: ({ state }) => state === 'silent' || state === 'overdue',
  },
  { heading: 'LAST', width: 4, text: ({ last_received_at }, nowMs) => shortAgo(last_received_at, nowMs) },
  { heading: 'COURT', width: 10, isText: true, text: ({ court_id }) => court_id },
  { heading: 'SOURCE', width: 16, isText: true, text: ({ source }) => source },
  { heading: '/MIN', width: 6, text: ({ events_last_minute }) => `${events_last_minute ?? '-'}` },
  {
    heading: 'CLOCK',
    width: 7,
    text: ({ clock_offset_s }) => seconds(clock_offset_s, '+'),
    isAlarm: ({ clock_offset_s }) => isClockOff(clock_offset_s),
  },
  {
    heading: 'REJECTED',
    width: 8,
    text: ({ refused_last_day }) => `${refused_last_day ?? '-'}`,
    isAlarm: ({ refused_last_day }) => (refused_last_day ?? 0) > 0,
  },
  { heading: 'LATE95', width: 6, text: ({ lateness_p95_s }) => seconds(lateness_p95_s) },
  { heading: '/DAY', width: 8, text: ({ events_last_day }) => `${events_last_day ?? '-'}` },
  { heading: 'CLIENT', width: 15, isText: true, text: ({ client }) => client ?? '-' },
];

/** Sources that a person should look at come first. */
function sourceLines(sources: readonly Source[], canvas: Canvas, nowMs: number): string[] {
  if (sources.length === 0) return ['No source is known.'];
  const alarms = (source: Source) => COLUMNS.filter((column) => column.isAlarm?.(source)).length;
  const cell = ({ width, isText }: Column, text: string) => padded(cut(visible(text), width), width, !isText);
  const line = (text: (column: Column) => string) => {
    const cells = COLUMNS.map((column) => cell(column, text(column)));
    return fit(cells.join('  ').trimEnd(), canvas);
  };
  const headings = line(({ heading }) => heading);
  return [
    styled(headings, 'bold', canvas),
    ...[...sources]
      .sort((a, b) => alarms(b) - alarms(a))
      .map((source) => {
        const text = line((column) => column.text(source, nowMs));
        return styled(text, alarms(source) > 0 ? 'warn' : undefined, canvas);
      }),
  ];
}

/** @param plus is put before a positive number. */
function seconds(value: number | null, plus = ''): string {
  if (value === null) return '-';
  const size = Math.abs(value);
  const sign = size < 0.05 ? '' : value < 0 ? '-' : plus;
  return `${sign}${size < 10 ? `${size.toFixed(1)}s` : shortSpan(size)}`;
}
