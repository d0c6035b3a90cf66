import { type Cells, stdoutSink, tableLine } from './output.ts';
/**
 * Prints a list as it is read, because it may have a million lines: a JSON array, `[]` for none, or a table. The first lines set the
 * widths of its columns; a longer name further down shifts its own line.
 * @param batches lists of lines, none of them empty.
 * @returns whether there was none.
 */
export async function printList(batches: Iterable<readonly object[]>, isJson: boolean): Promise<boolean> {
  const { write } = stdoutSink();
  let isEmpty = true;
  let line: ((cells: Cells) => string) | undefined;
  for (const batch of batches) {
    if (isJson) {
      const texts = batch.map((entry) => `\n  ${JSON.stringify(entry)}`);
      await write(`${isEmpty ? '[' : ','}${texts.join()}`);
    } else {
      const rows = batch.map((entry): Cells => Object.values(entry).map((cell) => cell ?? '-'));
      const headings = line === undefined ? [Object.keys(batch[0]!)] : [];
      line ??= tableLine([...headings, ...rows]);
      await write([...headings, ...rows].map((row) => `${line?.(row)}\n`).join(''));
    }
    isEmpty = false;
  }
  if (isJson) await write(isEmpty ? '[]\n' : '\n]\n');
  return isEmpty;
}
