/** A reader of CSV to the letter of RFC 4180, which knows nothing of how courtd writes it. */

const FIELD = /"((?:[^"]|"")*)"|([^",\r\n]*)/y;
const SEPARATOR = /,|\r\n/y;

/**
 * @returns the records, each a list of its fields.
 * @throws where the text is not CSV: a bare quote, CR or LF, or no line end at the end.
 */
export function readCsv(text: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  for (let at = 0; at < text.length; ) {
    const field = matchAt(FIELD, text, at);
    record.push(field[1]?.replaceAll('""', '"') ?? field[2] ?? '');
    at += field[0].length;
    const separator = matchAt(SEPARATOR, text, at);
    at += separator[0].length;
    if (separator[0] === ',') continue;
    records.push(record);
    record = [];
  }
  if (record.length > 0) throw new Error('the last record has no line end');
  return records;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray {
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  if (match === null)
    throw new Error(`not CSV at character ${at}: ${JSON.stringify(text.slice(at, at + 40))}`);
  return match;
}

/** @returns the records under the header, by its names. */
export function csvObjects(text: string): Record<string, string>[] {
  const [header = [], ...records] = readCsv(text);
  return records.map((record) => {
    if (record.length !== header.length)
      throw new Error(`${record.length} fields: ${JSON.stringify(record)}`);
    return Object.fromEntries(header.map((name, i) => [name, record[i] ?? '']));
  });
}
