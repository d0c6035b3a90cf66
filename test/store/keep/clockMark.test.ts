import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../../src/base/limits.ts';
import { markClock, trustedMs } from '../../../src/store/keep/nightlyRetention.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

t.test(
  'for a day after a jump of the clock by more than a day, no later time is trusted than before it',
  (t) => {
    const table: readonly (readonly [
      what: string,
      marks: readonly number[],
      now: number,
      trusted: number,
    ])[] = [
      ['never marked', [], 0, 0],
      ['an hour later', [0, 1, 2], 3, 3],
      ['set by less than a day', [0, 1, 20, 2], 3, 3],
      ['a year ahead since the last mark', [0, 1], 8_760, 1],
      ['ahead, and the daemon has seen it', [0, 1, 8_760, 8_761], 8_762, 1],
      ['ahead, and back again', [0, 1, 8_760, 8_761, 10], 11, 11],
      ['the daemon was off for a week', [0, 1, 169, 170], 171, 1],
      ['a day after it was off', [0, 1, 169, 192], 194, 194],
      ['before the clock was set', [-9_000], 5, 5],
    ];
    const hour = (hours: number) => EARLIEST_RECEIVED_MS + hours * 3_600_000;
    const { now } = Date;
    t.teardown(() => Object.assign(Date, { now }));
    for (const [what, marks, at, trusted] of table) {
      const directory = new DataDirectory(temporaryFolder(t));
      for (const mark of marks) {
        Date.now = () => hour(mark);
        markClock(directory)();
      }
      t.equal(trustedMs(directory, hour(at)), hour(trusted), what);
      fs.writeFileSync(path.join(directory.path, 'courtd.clock'), 'noon');
      t.equal(trustedMs(directory, hour(at)), hour(at), 'a mark that is none says nothing');
    }
    t.end();
  },
);
