import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { circumstances, writeResults } from '../../scripts/bench/results.ts';
import { temporaryFolder } from '../harness/daemon.ts';

const ORDER = ['contest', 'size'];
const table = (value: number) => ({ headings: ['courtd', 'bytes'], rows: [['an event', value]] });

t.test('the results name the date, the commit, the machine and the method of each section', async (t) => {
  const file = path.join(temporaryFolder(t), 'RESULTS.md');
  writeResults(file, ORDER, 'size', circumstances('One round.'), [table(200)]);
  const text = fs.readFileSync(file, 'utf8');
  t.match(text, /^# .*\n/);
  t.match(text, /\n## size\n\n20\d\d-\d\d-\d\d, commit \S.*, \d+ x .* GiB, .* Node v\d+.*\. One round\.\n/);
  t.match(text, '\n| courtd | bytes |\n| --- | ---: |\n| an event | 200 |\n');
});

t.test(
  'a run replaces its sections, keeps the others as they were, and drops those that are no more',
  async (t) => {
    const file = path.join(temporaryFolder(t), 'RESULTS.md');
    const run = (date: string) => ({ date, commit: 'abc1234', machine: 'a machine', method: 'One round.' });
    writeResults(file, [...ORDER, 'former'], 'former', run('2026-01-01'), [table(1)]);
    writeResults(file, ORDER, 'size', run('2026-01-02'), [table(2), table(3)]);
    writeResults(file, ORDER, 'contest', run('2026-01-03'), [table(4)]);
    writeResults(file, ORDER, 'contest', run('2026-01-04'), [table(5)]);
    const text = fs.readFileSync(file, 'utf8');
    const head = 'commit abc1234, a machine. One round.';
    const rows = (...values: number[]) =>
      values.map((value) => `| courtd | bytes |\n| --- | ---: |\n| an event | ${value} |\n`).join('\n');
    const contest = `## contest\n\n2026-01-04, ${head}\n\n${rows(5)}`;
    t.equal(text.slice(text.indexOf('## ')), `${contest}\n## size\n\n2026-01-02, ${head}\n\n${rows(2, 3)}`);
  },
);
