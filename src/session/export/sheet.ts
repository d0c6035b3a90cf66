import { OperatorError } from '../../base/operatorError.ts';
import { DAY_MS } from '../../base/units.ts';
import { ZipEntry } from './zipArchive.ts';

/** A worksheet of a workbook (ECMA-376, part 1, 18.3), written row by row. */

/** Rows that a sheet of Excel has, the header among them. */
export const SHEET_ROWS = 1_048_576;
/** UTF-16 code units that a cell of Excel holds. */
export const CELL_CHARS = 32_767;

/** The largest number that Excel takes; a file with a larger one is damaged to it. */
const NUMBER_MAX = 9.99999999999999e307;
/** Excel shows 15 digits of an integer, and zeros for the others; from 12 digits on it shows a power of ten, unless a format is set. */
const [TEXT_FROM, FORMAT_FROM] = [1e15, 1e11];

/** Indexes of cellXfs in workbookParts.ts. */
export const STYLES = {
  general: 0,
  time: 1,
  header: 2,
  text: 3,
  wrapped: 4,
  integer: 5,
  boolean: 6,
} as const;

/** Day 0 of a workbook. Excel takes 1900 for a leap year, so its days are right from March 1900 on. */
const DAY_0_MS = Date.UTC(1899, 11, 30);
const FIRST_RIGHT_MS = Date.UTC(1900, 2, 1);

/** Printed on A4 across (paper size 9), all columns on one page, with the sheet's name and the page's number below. */
const FIT_TO_PAGE = '<sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>';
const PAGE =
  '<pageMargins left="0.4" right="0.4" top="0.4" bottom="0.6" header="0.3" footer="0.3"/>' +
  '<pageSetup paperSize="9" orientation="landscape" fitToWidth="1" fitToHeight="0"/>' +
  '<headerFooter><oddFooter>&amp;L&amp;A&amp;R&amp;P / &amp;N</oddFooter></headerFooter>';

/** A moment, shown as a date and time in UTC. */
export interface Time {
  readonly ms: number;
  /** Text for a time that a workbook cannot hold: before March 1900. */
  readonly text: string;
}

/** A text is a text, whatever it looks like: nothing becomes a number, a date or a formula. */
export type CellValue = string | number | boolean | Time | undefined;

export interface SheetColumn {
  readonly name: string;
  /** In characters. */
  readonly width: number;
}

export class Sheet {
  /** Of its tab: up to 31 characters, none of []:*?/\. */
  readonly title: string;
  readonly entry: ZipEntry;
  readonly #columns: number;
  #rows = 0;

  /** @param number from 1 on; names its file. */
  constructor(number: number, title: string, columns: readonly SheetColumn[]) {
    this.title = title;
    this.entry = new ZipEntry(`xl/worksheets/sheet${number}.xml`);
    this.#columns = columns.length;
    const widths = columns.map(
      ({ width }, i) => `<col min="${i + 1}" max="${i + 1}" width="${width}" customWidth="1"/>`,
    );
    this.entry.write(
      `${XML}<worksheet xmlns="${MAIN}">${FIT_TO_PAGE}<sheetViews><sheetView workbookViewId="0">` +
        '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>' +
        `<sheetFormatPr defaultRowHeight="15"/><cols>${widths.join('')}</cols><sheetData>`,
    );
    this.row(
      columns.map(({ name }) => name),
      STYLES.header,
    );
  }

  /** @param textStyle how its texts are shown. @throws {OperatorError} if the sheet is full. */
  row(values: readonly CellValue[], textStyle: number = STYLES.text): void {
    if (this.#rows >= SHEET_ROWS || this.entry.isFull) {
      throw new OperatorError(
        `The session has more ${this.title} than a sheet of a workbook takes, which is ${SHEET_ROWS.toLocaleString('en')} rows or 512 MiB. Choose a part with --from and --to, or write CSV or Parquet.`,
      );
    }
    this.#rows++;
    const cells = values.map((value, i) => cell(`${letters(i)}${this.#rows}`, value, textStyle));
    this.entry.write(`<row r="${this.#rows}">${cells.join('')}</row>`);
  }

  /** Completes the sheet. @param canFilter whether its header gets buttons that sort and filter. */
  end(canFilter: boolean): void {
    const filter = canFilter ? `<autoFilter ref="A1:${letters(this.#columns - 1)}${this.#rows}"/>` : '';
    this.entry.write(`</sheetData>${filter}${PAGE}</worksheet>`);
  }
}

export const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
export const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

function cell(place: string, value: CellValue, textStyle: number): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return textCell(place, value, textStyle);
  if (typeof value === 'number') {
    const size = Math.abs(value);
    const isLong = Number.isSafeInteger(value) && size >= FORMAT_FROM;
    if (size > NUMBER_MAX || (isLong && size >= TEXT_FROM)) return textCell(place, `${value}`, textStyle);
    return `<c r="${place}"${isLong ? ` s="${STYLES.integer}"` : ''}><v>${value}</v></c>`;
  }
  if (typeof value === 'boolean')
    return `<c r="${place}" s="${STYLES.boolean}" t="b"><v>${value ? 1 : 0}</v></c>`;
  if (value.ms < FIRST_RIGHT_MS) return textCell(place, value.text, STYLES.text);
  return `<c r="${place}" s="${STYLES.time}"><v>${(value.ms - DAY_0_MS) / DAY_MS}</v></c>`;
}

/** Within the cell, not in a table of shared strings, which would have to be in memory. */
function textCell(place: string, text: string, style: number): string {
  return `<c r="${place}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${xmlText(text)}</t></is></c>`;
}

/** The letters of a column: 0 is A. No sheet has more than 26. */
function letters(column: number): string {
  return String.fromCharCode(65 + column);
}

const SPECIAL = /[&<>\p{Cc}\p{Cs}\ufffe\uffff]|_x/u;
/** An underscore that starts what a reader would take for an escape (ECMA-376, part 1, 22.9.2.19) is escaped itself. */
const ESCAPED = /[&<>\p{Cc}\p{Cs}\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)/gu;
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** @returns the text as XML, cut to what a cell holds. XML has no control characters, and no lone surrogates. */
export function xmlText(text: string): string {
  // Never half a pair of surrogates.
  const cut =
    text.length > CELL_CHARS ? `${text.slice(0, CELL_CHARS - 1).replace(/[\ud800-\udbff]$/, '')}…` : text;
  return SPECIAL.test(cut) ? cut.replace(ESCAPED, escaped) : cut;
}

function escaped(character: string): string {
  const entity = ENTITIES[character];
  if (entity !== undefined) return entity;
  const code = character.charCodeAt(0);
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  return `_x${code.toString(16).toUpperCase().padStart(4, '0')}_`;
}
