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
    const { status, said } = await runScript(t, SCRIPT, '--cuts', '40', '--flushing', '0');
    t.equal(status, 0);
    t.match(said, /in play: 40 power cuts: lost 0, twice 0, half 0, corrupt 0, stopped 0, unmountable 0/);
  },
);

t.test(
  'a power cut of the stick keeps every event that counted as copied, and the copy continues',
  { skip: missingNeeds() ?? false },
  async (t) => {
    const { status, said } = await runScript(
      t,
      path.resolve(import.meta.dirname, './copy.ts'),
      '--cuts',
      '10',
    );
    t.equal(status, 0);
    t.match(said, /"lost":0,"wrong":0,"unfinished":0/);
  },
);
