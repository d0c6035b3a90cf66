import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { PLANTS, planted } from '../histories/plants.ts';
import { FAULTS } from './faults.ts';
import { mutated, ROOT } from './main.ts';

t.test('every fault can still be applied, and the test that must find it is there', (t) => {
  for (const fault of FAULTS) {
    t.doesNotThrow(() => mutated(fs.readFileSync(path.join(ROOT, fault.file), 'utf8'), fault), fault.name);
    t.ok(fs.existsSync(path.join(ROOT, fault.test)), fault.test);
  }
  t.equal(new Set(FAULTS.map(({ name }) => name)).size, FAULTS.length, 'each has a name of its own');
  t.end();
});

t.test('every fault of the histories can still be planted', (t) => {
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
