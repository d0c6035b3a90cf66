import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { commandsOf } from '../../scripts/package/commands.ts';
import { manualOf } from '../../scripts/package/manual.ts';
import { loadVerbs, makeProgram } from '../../src/cli/program.ts';
import { run, temporaryFolder } from '../harness/daemon.ts';

const MANUAL = path.join(temporaryFolder(t), 'courtd.1');
fs.writeFileSync(MANUAL, manualOf(commandsOf(await loadVerbs(makeProgram()))));

/** Programs that check a man page, with their arguments. */
const CHECKERS = {
  groff: ['-man', '-ww', '-z', '-K', 'utf8', MANUAL],
  man: ['--warnings', '-E', 'UTF-8', '-l', MANUAL],
};

for (const [checker, args] of Object.entries(CHECKERS)) {
  const found = (process.env.PATH ?? '')
    .split(':')
    .some((folder) => fs.existsSync(path.join(folder, checker)));
  t.test(
    `${checker} renders the man page without a warning`,
    { skip: !found && 'not installed' },
    async (t) => {
      const { status, stderr } = await run(checker, args);
      t.strictSame({ status, stderr }, { status: 0, stderr: '' }, checker);
    },
  );
}
