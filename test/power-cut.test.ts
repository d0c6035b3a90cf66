import path from 'node:path';
import t from 'tap';
import { missingNeeds } from '../scripts/power-cut/needs.ts';
import { start } from './daemon.ts';

const SCRIPT = path.resolve(import.meta.dirname, '../scripts/power-cut.ts');

// Twenty seconds, on a machine that has nothing else to do.
t.setTimeout(240_000);

t.test(
  'the power goes while it writes: nothing that was acknowledged is lost',
  { skip: missingNeeds() ?? false },
  async (t) => {
    const child = start(process.execPath, [SCRIPT, '--cuts', '40', '--sealing', '0']);
    // It unmounts what it has mounted.
    t.teardown(() => child.kill('SIGTERM'));
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        said += chunk;
      });
    }
    const status = await new Promise((resolve) => child.once('close', resolve));
    for (const line of said.trim().split('\n')) t.comment(line);
    t.equal(status, 0);
    t.match(said, /in play: 40 power cuts: lost 0, twice 0, half 0, corrupt 0, stopped 0, unmountable 0/);
  },
);
