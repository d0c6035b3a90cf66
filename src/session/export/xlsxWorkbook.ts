import type { Sink } from '../../base/sink.ts';
import { MAIN, Sheet, type SheetColumn, XML, xmlText } from './xlsxSheet.ts';
import { writeArchive, ZipEntry } from './zipArchive.ts';

/** A workbook (ECMA-376, part 1): its sheets, and the parts that name them. Nothing in it is a formula. */

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPES = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** Between a number, which is at the right of its cell, and the text behind it. */
const GAP = 'horizontal="left" indent="1"';

/** xlsxSheet.ts, STYLES: general, time, header, text, wrapped text, integer, boolean. LibreOffice shows a boolean as a number otherwise. */
const STYLE_PART =
  `${XML}<styleSheet xmlns="${MAIN}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss.000"/>` +
  '<numFmt numFmtId="165" formatCode="&quot;TRUE&quot;;&quot;TRUE&quot;;&quot;FALSE&quot;"/></numFmts>' +
  '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>' +
  '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
  '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
  '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="7">' +
  '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>' +
  '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>' +
  `<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1" applyAlignment="1"><alignment ${GAP}/></xf>` +
  `<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyAlignment="1"><alignment ${GAP}/></xf>` +
  `<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyAlignment="1"><alignment ${GAP} vertical="top" wrapText="1"/></xf>` +
  '<xf numFmtId="1" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>' +
  '<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyAlignment="1"><alignment horizontal="center"/></xf>' +
  '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>';

export class Workbook {
  readonly #sheets: { readonly name: string; readonly entry: ZipEntry }[] = [];

  /** @param name up to 31 characters, none of []:*?/\. */
  addSheet(name: string, columns: readonly SheetColumn[]): Sheet {
    const entry = new ZipEntry(`xl/worksheets/sheet${this.#sheets.length + 1}.xml`);
    this.#sheets.push({ name, entry });
    return new Sheet(name, entry, columns);
  }

  /** @param order the names of the sheets, as their tabs stand. */
  async writeTo(sink: Sink, order: readonly string[]): Promise<void> {
    const idOf = (name: string) => this.#sheets.findIndex((sheet) => sheet.name === name) + 1;
    const tabs = order.map(
      (name) => `<sheet name="${xmlText(name)}" sheetId="${idOf(name)}" r:id="rId${idOf(name)}"/>`,
    );
    const styles = this.#sheets.length + 1;
    const relation = (id: number, type: string, target: string) =>
      `<Relationship Id="rId${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
    const relations = (...all: readonly string[]) =>
      `${XML}<Relationships xmlns="${PACKAGE}/relationships">${all.join('')}</Relationships>`;
    const sheets = this.#sheets.map((_, i) => `worksheets/sheet${i + 1}.xml`);
    const override = (part: string, type: string) =>
      `<Override PartName="/xl/${part}" ContentType="${TYPES}.${type}+xml"/>`;
    const parts: Readonly<Record<string, string>> = {
      '[Content_Types].xml':
        `${XML}<Types xmlns="${PACKAGE}/content-types">` +
        `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
        override('workbook.xml', 'sheet.main') +
        override('styles.xml', 'styles') +
        `${sheets.map((part) => override(part, 'worksheet')).join('')}</Types>`,
      '_rels/.rels': relations(relation(1, 'officeDocument', 'xl/workbook.xml')),
      'xl/workbook.xml': `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>${tabs.join('')}</sheets></workbook>`,
      'xl/_rels/workbook.xml.rels': relations(
        ...sheets.map((part, i) => relation(i + 1, 'worksheet', part)),
        relation(styles, 'styles', 'styles.xml'),
      ),
      'xl/styles.xml': STYLE_PART,
    };
    const entries = Object.entries(parts).map(([name, text]) => {
      const entry = new ZipEntry(name);
      entry.write(text);
      return entry;
    });
    await writeArchive([...entries, ...this.#sheets.map(({ entry }) => entry)], sink);
  }
}
