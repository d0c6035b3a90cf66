import { visible } from '../../base/visibleText.ts';
import { type Cells, stdoutSink, tableLine } from './output.ts';
import { canvasOf, cut } from './style.ts';

const LONG_LEAST = 24;

/**
 * Prints a list as it is read, because it may have a million lines: a JSON array, `[]` for none, or a table. The first lines set the
 * widths of its columns; a longer name further down shifts its own line.
 * @param batches lists of lines, none of them empty.
 * @param long the column whose texts are cut on a terminal, because an id may be as long as a body, and the columns of the others.
 * @returns whether there was none.
 */
export async function printList<Line extends object>(
  batches: Iterable<readonly Line[]>,
  isJson: boolean,
  long: { readonly column: keyof Line; readonly others: number },
): Promise<boolean> {
  const { write } = stdoutSink();
  const { columns = Number.POSITIVE_INFINITY } = canvasOf(process.stdout);
  const width = Math.max(LONG_LEAST, columns - long.others);
  let isEmpty = true;
  let line: ((cells: Cells) => string) | undefined;
  const cellOf = ([name, value]: [string, string | number | null]) =>
    name === long.column ? cut(visible(`${value}`), width) : (value ?? '-');
  for (const batch of batches) {
    if (isJson) {
      const texts = batch.map((entry) => `\n  ${JSON.stringify(entry)}`);
      await write(`${isEmpty ? '[' : ','}${texts.join()}`);
    } else {
      const rows = batch.map((entry): Cells => Object.entries(entry).map(cellOf));
      const headings = line === undefined ? [Object.keys(batch[0]!)] : [];
      line ??= tableLine([...headings, ...rows]);
      await write([...headings, ...rows].map((row) => `${line?.(row)}\n`).join(''));
    }
    isEmpty = false;
  }
  if (isJson) await write(isEmpty ? '[]\n' : '\n]\n');
  return isEmpty;
}
