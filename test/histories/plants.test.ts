import fs from 'node:fs';
import t from 'tap';
import { PLANTS, planted } from './plants.ts';

t.test('every fault can still be planted, under a name of its own', (t) => {
  for (const plant of PLANTS) {
    for (const { file } of plant.changes) {
      const source = fs.readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8');
      t.not(planted(file, source, plant), source, plant.name);
    }
  }
  t.equal(new Set(PLANTS.map(({ name }) => name)).size, PLANTS.length);
  t.throws(() =>
    planted('a.ts', 'other', { ...PLANTS[0]!, changes: [{ file: 'a.ts', from: 'x', to: 'y' }] }),
  );
  t.end();
});
