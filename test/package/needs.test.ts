import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { run, temporaryFolder } from '../harness/daemon.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const LOCK = JSON.parse(fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'));

t.test('npm run package without the tools of development: one sentence says what to type', async (t) => {
  const clone = temporaryFolder(t);
  for (const name of ['LICENSE', 'package.json', 'scripts', 'src'])
    fs.cpSync(path.join(ROOT, name), path.join(clone, name), { recursive: true });
  // What `npm ci --omit=dev` installs.
  for (const [name, { dev }] of Object.entries<{ readonly dev?: boolean }>(LOCK.packages)) {
    if (name === '' || dev === true || !fs.existsSync(path.join(ROOT, name))) continue;
    if (name.lastIndexOf('node_modules') > 0) continue;
    fs.mkdirSync(path.dirname(path.join(clone, name)), { recursive: true });
    fs.symlinkSync(path.join(ROOT, name), path.join(clone, name));
  }
  const { status, stdout, stderr } = await run(process.execPath, [path.join(clone, 'scripts/package.ts')]);
  t.match(stderr, /^package: Building a package needs TypeScript[^\n]+ run "npm ci"[^\n]+\n$/);
  t.strictSame({ status, stdout }, { status: 1, stdout: '' });
});
