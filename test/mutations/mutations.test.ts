import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
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
