import { MAIN, type Sheet, XML, xmlText } from './sheet.ts';
import { ZipEntry } from './zipArchive.ts';

/** What a workbook has besides its sheets (ECMA-376, part 1). Nothing in it is a formula. */

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPES = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** Between a number, which is at the right of its cell, and the text behind it. */
const GAP = 'horizontal="left" indent="1"';

/** sheet.ts, STYLES: general, time, header, text, wrapped text, integer, boolean. LibreOffice shows a boolean as a number otherwise. */
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

/**
 * @param sheets in the order of their numbers.
 * @param tabs the same, in the order in which they are shown.
 * @returns the files that name them.
 */
export function workbookParts(sheets: readonly Sheet[], tabs: readonly Sheet[]): ZipEntry[] {
  const shown = tabs.map((sheet) => {
    const id = sheets.indexOf(sheet) + 1;
    return `<sheet name="${xmlText(sheet.title)}" sheetId="${id}" r:id="rId${id}"/>`;
  });
  const files = sheets.map((_, i) => `worksheets/sheet${i + 1}.xml`);
  const relation = (id: number, type: string, target: string) =>
    `<Relationship Id="rId${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
  const relations = (...all: readonly string[]) =>
    `${XML}<Relationships xmlns="${PACKAGE}/relationships">${all.join('')}</Relationships>`;
  const override = (part: string, type: string) =>
    `<Override PartName="/xl/${part}" ContentType="${TYPES}.${type}+xml"/>`;
  const parts: Readonly<Record<string, string>> = {
    '[Content_Types].xml':
      `${XML}<Types xmlns="${PACKAGE}/content-types">` +
      `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
      override('workbook.xml', 'sheet.main') +
      override('styles.xml', 'styles') +
      `${files.map((part) => override(part, 'worksheet')).join('')}</Types>`,
    '_rels/.rels': relations(relation(1, 'officeDocument', 'xl/workbook.xml')),
    'xl/workbook.xml': `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>${shown.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations(
      ...files.map((part, i) => relation(i + 1, 'worksheet', part)),
      relation(files.length + 1, 'styles', 'styles.xml'),
    ),
    'xl/styles.xml': STYLE_PART,
  };
  return Object.entries(parts).map(([name, text]) => {
    const entry = new ZipEntry(name);
    entry.write(text);
    return entry;
  });
}
