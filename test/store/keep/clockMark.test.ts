import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../../src/base/limits.ts';
import { lastJumpMs, markClock } from '../../../src/store/keep/nightlyRetention.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

t.test('a jump of the clock by more than a day is known at once, and after later marks', (t) => {
  const table: readonly (readonly [what: string, marks: readonly number[], now: number, jumped: number])[] = [
    ['never marked', [], 0, 0],
    ['an hour later', [0, 1, 2], 3, 0],
    ['set by less than a day', [0, 1, 20, 2], 3, 0],
    ['a year ahead since the last mark', [0, 1], 8_760, 8_760],
    ['ahead, and the daemon has seen it', [0, 1, 8_760, 8_761], 8_762, 8_760],
    ['ahead, and back again', [0, 1, 8_760, 8_761, 10], 11, 10],
    ['the daemon was off for a week', [0, 1, 169, 170], 171, 169],
    ['before the clock was set', [-9_000], 5, 0],
  ];
  const hour = (hours: number) => EARLIEST_RECEIVED_MS + hours * 3_600_000;
  const { now } = Date;
  t.teardown(() => Object.assign(Date, { now }));
  for (const [what, marks, at, jumped] of table) {
    const directory = new DataDirectory(temporaryFolder(t));
    for (const mark of marks) {
      Date.now = () => hour(mark);
      markClock(directory)();
    }
    t.equal(lastJumpMs(directory, hour(at)), jumped === 0 ? 0 : hour(jumped), what);
    fs.writeFileSync(path.join(directory.path, 'courtd.clock'), 'noon');
    t.notOk(Math.abs(hour(at) - lastJumpMs(directory, hour(at))) < 1, 'a mark that is none says nothing');
  }
  t.end();
});
