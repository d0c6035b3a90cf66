import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { cleanEnvironment, Daemon, run } from '../harness/daemon.ts';
import { answerShown, block, blocks, textOf, VENDOR_GUIDE } from '../harness/documents.ts';
import { missingPrograms } from '../harness/needs.ts';

/** The vendor's guide, followed with the programs that it uses. */

const skip = missingPrograms({ curl: 'curl', python3: 'python3' }) ?? false;

t.test(
  'each step of the guide to the first event gets the answer that the guide shows',
  { skip },
  async (t) => {
    const daemon = await Daemon.start(t);
    fs.mkdirSync(path.join(daemon.data, 'data'));
    fs.writeFileSync(path.join(daemon.data, 'data/npm-start.token'), `${daemon.token}\n`);
    const steps = blocks(VENDOR_GUIDE, 'sh').join("printf '\\n---\\n'\n").replace('4000', `${daemon.port}`);
    const file = path.join(daemon.data, 'steps.sh');
    fs.writeFileSync(file, steps);
    const { stdout, stderr } = await run('sh', ['-e', file], { cwd: daemon.data });
    // The first step only sets the address of the box.
    const [said, ...answers] = stdout.split('\n---\n');
    t.strictSame({ said, stderr }, { said: '', stderr: '' });
    t.ok(answers.length >= 4);
    const shown = blocks(VENDOR_GUIDE, 'json').slice(0, answers.length);
    t.strictSame(answers.map(answerShown), shown.map(answerShown));
    const revisions = await daemon.command(
      'event',
      'show',
      'match-17',
      '0198c5e2-7d1c-7a54-9d54-3b1d0f2a9c11',
    );
    t.match(revisions, { status: 0, stdout: /revision 1 \(current\)/ });
    t.match(textOf(VENDOR_GUIDE), 'bin/courtd event show match-17 0198c5e2-7d1c-7a54-9d54-3b1d0f2a9c11');
  },
);

t.test('the sample clients run as they are written', { skip }, async (t) => {
  const daemon = await Daemon.start(t);
  const env = cleanEnvironment({ BOX: `http://127.0.0.1:${daemon.port}`, TOKEN: daemon.token });
  const said = async (shell: string, code: string) => {
    const file = path.join(daemon.data, 'example.mjs');
    fs.writeFileSync(file, code);
    return (await run(shell, [file], { env })).stdout;
  };
  t.equal(await said('python3', block(VENDOR_GUIDE, 'python')), "{'accepted': 1, 'duplicates': 0}\n");
  t.equal(await said(process.execPath, block(VENDOR_GUIDE, 'js')), '{ accepted: 1, duplicates: 0 }\n');
});
