import { counted, shortAgo, shortSpan } from '../../base/units.ts';
import { visible } from '../../base/visibleText.ts';
import { type BoxRow, rank, readBoxes } from '../../fleet/headquarters/boxes.ts';
import { type FleetOptions, withHeadquarters } from '../../fleet/headquarters/connection.ts';
import { type JsonOption, printJson, printText, tableLine } from '../terminal/output.ts';
import { type Canvas, canvasOf, fit, type Style, styled } from '../terminal/style.ts';

/** `courtd fleet status`: a line a box, the worst first. */
export async function status(url: string, { json, ...options }: FleetOptions & JsonOption): Promise<void> {
  const rows = await withHeadquarters(url, options, readBoxes);
  if (json) printJson(rows);
  else printText(screen(rows, canvasOf(process.stdout), Date.now()));
}

const HEADINGS = ['BOX', 'STATE', 'BEHIND', 'STATUS', 'EVENTS', 'PROBLEM'];
const STYLES: readonly (Style | undefined)[] = [undefined, 'dim', 'warn', 'warn', 'fail', 'fail'];

/** @returns a line a box, and one for all of them below. */
export function screen(rows: readonly BoxRow[], canvas: Canvas, nowMs: number): string {
  if (rows.length === 0) return 'No box has shipped anything yet.\n';
  const cells = rows.map((row) => [
    row.box,
    stateOf(row),
    behind(row),
    shortAgo(row.last_status_at, nowMs),
    shortAgo(row.last_chunk_at, nowMs),
    visible(problem(row, nowMs)),
  ]);
  const toLine = tableLine([HEADINGS, ...cells]);
  const lines = rows.map((row, i) => styled(fit(toLine(cells[i]!), canvas), STYLES[rank(row)], canvas));
  const headings = styled(fit(toLine(HEADINGS), canvas), 'bold', canvas);
  return `${[headings, ...lines, fit(sum(rows), canvas)].join('\n')}\n`;
}

function stateOf({ state, silent_since, last_status_at }: BoxRow): string {
  if (silent_since === null) return state ?? '-';
  return last_status_at === null ? 'retired' : 'silent';
}

function behind({ behind_events, behind_s }: BoxRow): string {
  if (behind_events === null) return '-';
  if (behind_events === 0) return '0';
  return behind_s === null ? `${behind_events}` : `${behind_events} (${shortSpan(behind_s)})`;
}

function problem({ silent_since, error, problems }: BoxRow, nowMs: number): string {
  const silent = silent_since === null ? [] : [`silent for ${shortAgo(silent_since, nowMs)}`];
  const said = [...problems].sort((a, b) => Number(b.level === 'fail') - Number(a.level === 'fail'));
  return [...silent, ...(error === null ? [] : [error]), ...said.map(({ message }) => message)].join('; ');
}

function sum(rows: readonly BoxRow[]): string {
  const heard = rows.filter((row) => stateOf(row) !== 'silent');
  const count = (...which: readonly number[]) => heard.filter((row) => which.includes(rank(row))).length;
  const boxes = counted(rows.length, 'box', 'boxes');
  const silent = rows.length - heard.length;
  return `${boxes}: ${count(2, 3, 5)} with problems, ${silent} silent, ${count(1)} behind, ${count(0)} well`;
}
