import path from 'node:path';
import t from 'tap';
import { missingNats } from '../harness/natsProgram.ts';
import { runScript } from '../harness/runScript.ts';
import { missingNeeds } from './needs.ts';
import { missingToBuild } from './packages.ts';
import { debianTree } from './tree.ts';

const SCRIPT = path.resolve(import.meta.dirname, './main.ts');
const SUITE = 'bookworm';

// Four minutes, and half a minute more for the tree the first time, on a machine that has nothing else to do.
t.setTimeout(1_500_000);

const lacks = missingNeeds() ?? missingToBuild() ?? ((await missingNats()) || (await lacksTree()));

t.test(
  'a box is installed without internet, crashes, is upgraded, rolled back, backed up, restored, rebooted and purged: nothing that was acknowledged is lost or doubled, and what goes wrong is found by status',
  { skip: lacks ?? false },
  async (t) => {
    const { status, said } = await runScript(t, SCRIPT, '--suite', SUITE);
    t.strictSame(said.match(/^.* FAILED .*$/gm), null);
    t.equal(status, 0);
    t.match(said, /^bookworm: \d+ steps .*: nothing that was acknowledged was lost or doubled$/m);
  },
);

async function lacksTree(): Promise<string | undefined> {
  try {
    await debianTree(SUITE);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
