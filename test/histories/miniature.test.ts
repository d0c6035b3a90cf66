import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { MINIATURE, transformed } from './miniature.ts';
import { PLANTS } from './plants.ts';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));
const filesOf = (changes: readonly { readonly file: string }[]) => new Set(changes.map(({ file }) => file));

t.test('what the simulation replaces in a file of src is there, once', (t) => {
  for (const file of filesOf(MINIATURE)) transformed(file, fs.readFileSync(SRC + file, 'utf8'), undefined);
  t.end();
});

t.test('every fault can still be planted', (t) => {
  for (const plant of PLANTS) {
    for (const file of filesOf(plant.changes)) transformed(file, fs.readFileSync(SRC + file, 'utf8'), plant);
  }
  t.equal(new Set(PLANTS.map(({ name }) => name)).size, PLANTS.length, 'each has a name of its own');
  t.end();
});

t.test('a text that is not there any more is no silent change', (t) => {
  t.throws(() => transformed('base/limits.ts', 'export const X = 1;', undefined), /0 times, not once/);
  t.end();
});
