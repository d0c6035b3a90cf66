import { inflateRawSync } from 'node:zlib';

/** Reads a workbook that courtd wrote: a reader of its own, so that `npm test` needs no spreadsheet. */

export interface Cell {
  /** The letters of its column and the number of its row. */
  readonly place: string;
  readonly value: string | number | boolean;
  /** Index of its format in styles.xml. */
  readonly style: number;
}

/** @returns the files of a ZIP archive, by the directory at its end. */
export function unzip(archive: Buffer): Map<string, string> {
  const files = new Map<string, string>();
  const end = archive.length - 22;
  if (archive.readUInt32LE(end) !== 0x06054b50) throw new Error('not a ZIP archive');
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    const [nameLength, extra, comment] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset));
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength!);
    const header = archive.readUInt32LE(at + 42);
    const from = header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28);
    const content = inflateRawSync(archive.subarray(from, from + archive.readUInt32LE(at + 20)));
    if (content.length !== archive.readUInt32LE(at + 24)) throw new Error(`${name} has another size`);
    files.set(name, content.toString());
    at += 46 + nameLength! + extra! + comment!;
  }
  return files;
}

/** @returns the XML of each sheet by its title, in the order of the tabs. */
export function sheetsOf(files: ReadonlyMap<string, string>): Map<string, string> {
  const relations = files.get('xl/_rels/workbook.xml.rels') ?? '';
  const targets = new Map(
    [...relations.matchAll(/Id="(\w+)"[^>]*Target="([^"]+)"/g)].map(([, id, target]) => [id, target]),
  );
  const tabs = (files.get('xl/workbook.xml') ?? '').matchAll(/<sheet name="([^"]+)"[^>]*r:id="(\w+)"/g);
  return new Map([...tabs].map(([, title, id]) => [title!, files.get(`xl/${targets.get(id)}`) ?? '']));
}

/** @returns the cells of each row of a sheet. */
export function rowsOf(sheet: string): Cell[][] {
  const rows = sheet.matchAll(/<row r="\d+">(.*?)<\/row>/gs);
  return [...rows].map(([, row]) =>
    [...row!.matchAll(/<c r="(\w+)"( s="(\d+)")?( t="(\w+)")?>(.*?)<\/c>/gs)].map(
      ([, place, , style, , type, content]) => ({
        place: place!,
        style: Number(style ?? 0),
        value: contentOf(type, content!.replace(/<[^>]*>/g, '')),
      }),
    ),
  );
}

/** @returns the values of a sheet by the names in its first row. */
export function objectsOf(sheet: string): Record<string, Cell['value']>[] {
  const [header = [], ...rows] = rowsOf(sheet);
  const column = ({ place }: Cell) => place.replace(/\d+/, '');
  const names = new Map(header.map((cell) => [column(cell), String(cell.value)]));
  return rows.map((row) => Object.fromEntries(row.map((cell) => [names.get(column(cell)), cell.value])));
}

function contentOf(type: string | undefined, text: string): Cell['value'] {
  if (type === 'b') return text === '1';
  if (type === undefined) return Number(text);
  return text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
    .replace(/_x([0-9A-F]{4})_/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** @returns the time, in milliseconds since 1970-01-01T00:00:00Z, that a cell with a day of Excel's calendar shows. */
export function timeOf(day: number): number {
  return Math.round(day * 86_400_000) + Date.UTC(1899, 11, 30);
}
