import { shortAgo, shortSpan } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import { isClockOff } from '../../health/sourceProblems.ts';
import type { StatusReport } from '../../health/status.ts';
import type { SourceReport } from '../../telemetry/source.ts';
import { type Canvas, cut, fit, lengthOf, padded, type Style, styled } from '../terminal/style.ts';

const ZERO = '0.0s';
/** The names that are needed have two fifths of the line at most. */
const NAMES_PART = 0.4;

interface Column {
  readonly heading: string;
  readonly isNumber?: boolean;
  readonly isExtra?: boolean;
  text(source: SourceReport, nowMs: number): string;
  /** What tells it from others, where there is no room for the text. */
  short?(source: SourceReport): string;
  style?(source: SourceReport): Style | undefined;
}

const count = (value: number | null) => (value === null ? '-' : String(value));
const COLUMNS: readonly Column[] = [
  { heading: 'COURT', text: ({ court_id }) => court_id },
  {
    heading: 'SOURCE',
    text: ({ source }) => source,
    short: ({ source, court_id }) =>
      source.startsWith(court_id) ? `~${source.slice(court_id.length)}` : source,
    style: (source) => STYLES[source.state],
  },
  { heading: 'STATE', text: ({ state }) => state, style: (source) => STYLES[source.state] },
  {
    heading: 'LAST',
    isNumber: true,
    text: ({ last_received_at }, nowMs) => shortAgo(last_received_at, nowMs),
  },
  { heading: '/MIN', isNumber: true, text: (source) => count(source.events_last_minute) },
  {
    heading: 'CLOCK',
    isNumber: true,
    text: ({ clock_offset_s }) => signed(clock_offset_s),
    style: ({ clock_offset_s }) => (isClockOff(clock_offset_s) ? 'warn' : undefined),
  },
  { heading: 'LATE95', isNumber: true, text: ({ lateness_p95_s }) => seconds(lateness_p95_s) },
  {
    heading: 'REFUSED',
    isNumber: true,
    text: (source) => count(source.refused_last_day),
    style: ({ refused_last_day }) => ((refused_last_day ?? 0) > 0 ? 'warn' : undefined),
  },
  { heading: 'CLIENT', isExtra: true, text: ({ client }) => client ?? '-' },
  { heading: '/DAY', isExtra: true, isNumber: true, text: (source) => count(source.events_last_day) },
  { heading: 'DUPLICATES', isExtra: true, isNumber: true, text: (source) => count(source.duplicates) },
  {
    heading: 'CONFLICTS',
    isExtra: true,
    isNumber: true,
    text: (source) => count(source.conflicts),
    style: ({ in_conflict }) => (in_conflict > 0 ? 'warn' : undefined),
  },
];

const STYLES: Record<SourceReport['state'], Style | undefined> = {
  sending: 'good',
  resting: undefined,
  silent: 'warn',
  overdue: 'warn',
  unknown: 'dim',
};

/** @returns the sources, those that a person should look at first. */
export function sourcesByUrgency({ sources }: StatusReport): SourceReport[] {
  const urgency = (source: SourceReport) =>
    (STYLES[source.state] === 'warn' ? 4 : 0) +
    (isClockOff(source.clock_offset_s) ? 2 : 0) +
    ((source.refused_last_day ?? 0) > 0 ? 1 : 0);
  return [...sources].sort((a, b) => urgency(b) - urgency(a));
}

/** @returns the headings, and a line for each source. What has no room is left out, and the rest stays on one line, on a phone too. */
export function drawSources(sources: readonly SourceReport[], canvas: Canvas, nowMs: number): string[] {
  const columns = canvas.columns ?? Number.POSITIVE_INFINITY;
  if (sources.length === 0) return [fit('No source has sent anything yet.', canvas)];
  const names = tellingNames(sources);
  const nameMost = Math.max(8, Math.floor((columns * NAMES_PART) / names.length));
  const shown: { column: Column; width: number; cells: string[] }[] = [];
  let width = -2;
  const hasAlarm = (column: Column) => sources.some((source) => column.style?.(source) === 'warn');
  for (const column of byUrgency(names, hasAlarm)) {
    const cells = sources.map((source) => cellOf(column, source, nowMs, nameMost));
    const widest = Math.max(lengthOf(column.heading), ...cells.map(lengthOf));
    if (width + 2 + widest > columns) continue;
    shown.push({ column, width: widest, cells });
    width += 2 + widest;
  }
  shown.sort((a, b) => COLUMNS.indexOf(a.column) - COLUMNS.indexOf(b.column));
  const headings = shown.map(({ column, width }) => padded(column.heading, width, column.isNumber));
  const title = headings.join('  ').trimEnd();
  const lines = sources.map((source, i) => {
    const cells = shown.map(({ column, width, cells }) =>
      styled(padded(cells[i]!, width, column.isNumber), column.style?.(source), canvas),
    );
    return cells.join('  ').trimEnd();
  });
  return [styled(title, 'bold', canvas), ...lines];
}

/** @returns a text of so many columns at most. */
function cellOf(column: Column, source: SourceReport, nowMs: number, most: number): string {
  const text = visible(column.text(source, nowMs));
  const isLong = lengthOf(text) > most;
  return cut(isLong && column.short ? visible(column.short(source)) : text, most);
}

const NAMES = ['COURT', 'SOURCE'];
const EXTRA = COLUMNS.findIndex(({ isExtra }) => isExtra);

/** @returns the names that tell sources apart: the other, if any, is the same for all, is in the first one's, or has one of each. */
function tellingNames(sources: readonly SourceReport[]): readonly string[] {
  const courts = new Set(sources.map(({ court_id }) => court_id)).size;
  const isInSource = sources.every(({ source, court_id }) => source.includes(court_id));
  if (courts === 1 || isInSource) return ['SOURCE'];
  return courts === sources.length ? ['COURT'] : NAMES;
}

/** @returns the columns in the order in which they get room: the names and what an alarm is about, then as they stand; the other name behind them. */
function byUrgency(names: readonly string[], hasAlarm: (column: Column) => boolean): readonly Column[] {
  const place = (column: Column) => {
    const isName = NAMES.includes(column.heading);
    if (isName ? names.includes(column.heading) : hasAlarm(column)) return -1;
    return isName ? EXTRA : COLUMNS.indexOf(column);
  };
  return [...COLUMNS].sort((a, b) => place(a) - place(b));
}

function signed(offset: number | null): string {
  if (offset === null) return '-';
  const text = seconds(Math.abs(offset));
  if (text === ZERO) return text;
  return `${offset < 0 ? '-' : '+'}${text}`;
}

function seconds(value: number | null): string {
  if (value === null) return '-';
  // Not "-0.0s".
  if (Math.abs(value) < 0.05) return ZERO;
  return Math.abs(value) < 10 ? `${value.toFixed(1)}s` : shortSeconds(value);
}

function shortSeconds(value: number): string {
  if (value < 0) return `-${shortSeconds(-value)}`;
  if (value < 600) return `${Math.round(value)}s`;
  return shortSpan(value);
}
