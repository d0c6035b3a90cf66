import path from 'node:path';
import t from 'tap';
import { runScript } from '../harness/runScript.ts';
import { missingNeeds } from './needs.ts';

const SCRIPT = path.resolve(import.meta.dirname, './main.ts');

// Twenty seconds, on a machine that has nothing else to do.
t.setTimeout(900_000);

t.test(
  'a power cut during writes loses nothing that was acknowledged',
  { skip: missingNeeds() ?? false },
  async (t) => {
    const { status, said } = await runScript(t, SCRIPT, '--cuts', '40');
    t.equal(status, 0);
    t.match(said, /40 power cuts: lost 0, twice 0, half 0, corrupt 0, stopped 0, unmountable 0/);
  },
);
