import path from 'node:path';
import t from 'tap';
import { runScript } from '../harness/runScript.ts';

t.setTimeout(300_000);

t.test(
  'each of the odd requests of half a minute gets its answer, and only whole ones are stored',
  async (t) => {
    const script = path.resolve(import.meta.dirname, './main.ts');
    const { status, said } = await runScript(t, script, '--seconds', '30');
    t.equal(status, 0);
    t.match(said, /, \d+ cases: /);
  },
);
