import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { missingPrograms } from '../harness/needs.ts';
import { chanceOf } from '../harness/seed.ts';
import { PLANTS } from './plants.ts';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
const skip = missingPrograms({ gcc: 'gcc libc6-dev' }) ?? false;

function histories(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  return { status, text: stdout + stderr, last: stdout.trimEnd().split('\n').at(-1)! };
}

t.test('half a minute of histories, from a seed of its own, violates nothing', { skip }, (t) => {
  const { status, text, last } = histories('--seconds', '30');
  t.comment(text);
  t.equal(status, 0, text);
  t.match(last, /^histories \d+, violations 0, seed \d+$/);
  t.end();
});

t.test('the same seed is the same history, call by call', { skip }, (t) => {
  for (const seed of [1, 2, 3]) {
    const { status, text } = histories('--seed', String(seed));
    t.equal(status, 0, text);
    t.match(text, /^twice the same, [0-9a-f]{16}$/m);
  }
  t.end();
});

// Found within seconds; a busy machine takes its time.
t.test('a fault that is planted is found', { skip }, (t) => {
  const usual = PLANTS.filter(({ near }) => near === undefined);
  const chance = chanceOf(t);
  for (const { name } of [chance.pick(usual), chance.pick(usual)]) {
    const { status, text, last } = histories('--plant', name, '--seconds', '300');
    t.equal(status, 1, text);
    t.match(last, /violations [1-9]/, name);
  }
  t.end();
});
