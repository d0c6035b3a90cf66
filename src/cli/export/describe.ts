import { DICTIONARY, dictionaryEntries } from '../../session/export/columns.ts';
import { type JsonOption, printJson, printTable } from '../terminal/output.ts';

/** `courtd export --describe`: the data dictionary. Needs no database. */
export function describe({ json }: JsonOption): void {
  if (json === true) return printJson(dictionaryEntries());
  printTable(
    ['column', 'unit', 'from', 'meaning'],
    DICTIONARY.map(({ name, unit, from, meaning }) => [name, unit ?? '', from, meaning]),
  );
}
