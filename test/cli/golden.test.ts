import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { temporaryFolder } from '../harness/daemon.ts';
import { serveAgain } from '../harness/servingAgain.ts';
import { blocksOf, Transcript } from '../harness/transcript.ts';

serveAgain();

/**
 * What each command prints. `UPDATE_GOLDEN=1 npx tap test/cli/golden.test.ts` writes the files again; read the difference. With
 * GOLDEN=NAME only files of that name are looked at.
 */
const GOLDEN = path.join(import.meta.dirname, 'golden');

for (const name of fs.readdirSync(GOLDEN)) {
  if (process.env.GOLDEN !== undefined && !name.startsWith(process.env.GOLDEN)) continue;
  t.test(name, async (t) => {
    const file = path.join(GOLDEN, name);
    const transcript = new Transcript(t, temporaryFolder(t));
    let all = '';
    for (const block of blocksOf(fs.readFileSync(file, 'utf8'))) {
      const found = await transcript.replay(block);
      if (!process.env.UPDATE_GOLDEN) t.equal(found, block.text, `${block.title} (UPDATE_GOLDEN=1)`);
      all += found;
    }
    if (process.env.UPDATE_GOLDEN) fs.writeFileSync(file, all);
  });
}
