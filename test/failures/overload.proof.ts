import path from 'node:path';
import t from 'tap';
import { temporaryFolder } from '../harness/daemon.ts';
import { runScript } from '../harness/runScript.ts';

const SCRIPT = path.resolve(import.meta.dirname, '../overload/main.ts');

// Four minutes, on a machine that has nothing else to do.
t.setTimeout(900_000);

t.test(
  'beside everything that can be done to it, it lives, is of bounded memory, and answers cameras rightly',
  async (t) => {
    const short = ['--seconds', '2', '--churn-seconds', '5'];
    const { status, said } = await runScript(t, SCRIPT, ...short, '--dir', temporaryFolder(t));
    t.equal(status, 0);
    t.match(said, /^Every bar is met\.$/m);
  },
);
