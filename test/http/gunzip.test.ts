import { spawnSync } from 'node:child_process';
import path from 'node:path';
import t from 'tap';

const SCRIPT = path.resolve(import.meta.dirname, 'freedBodies.ts');

t.test('a body may be freed as soon as it is known to expand too far: no thread still reads it', (t) => {
  // As bin/courtd has it: what is freed goes back to the system, and whoever reads it ends.
  const env = { ...process.env, MALLOC_MMAP_THRESHOLD_: '32768' };
  const { status, signal, stdout } = spawnSync(process.execPath, [SCRIPT], { env, encoding: 'utf8' });
  t.strictSame({ status, signal, stdout }, { status: 0, signal: null, stdout: 'body_too_large\n' });
  t.end();
});
