import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../../src/base/limits.ts';
import { markClock, nextMark, readMark, trustedMs } from '../../../src/store/db/clockMark.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

const DAY_MS = 86_400_000;
/** Day 0 is the first that the clock can have been right on. */
const day = (days: number) => EARLIEST_RECEIVED_MS + days * DAY_MS;

t.test(
  'for a day after a jump, retention counts on from before it: hours of the marks, and of the prune',
  (t) => {
    const table: readonly (readonly [
      what: string,
      marks: readonly number[],
      now: number,
      trusted: number,
    ])[] = [
      ['never marked', [], 0, 0],
      ['marked for the first time', [0], 0, 0],
      ['an hour later', [0, 1, 2], 3, 3],
      ['set by less than a day', [0, 1, 20, 2], 3, 3],
      ['a year ahead since the last mark', [0, 1], 8_760, 1],
      ['ahead, and the daemon has seen it', [0, 1, 8_760, 8_761], 8_762, 3],
      ['ahead for a day', [0, 1, 8_760, 8_784], 8_784, 8_784],
      ['ahead, and back again', [0, 1, 8_760, 8_761, 10], 11, 11],
      ['the daemon was off for a week', [0, 1], 169, 1],
      ['and it runs again', [0, 1, 168, 169, 191], 192, 192],
      ['off for a week again and again', [0, 1, 168, 169], 336, 169],
    ];
    const hour = (hours: number) => day(0) + hours * 3_600_000;
    for (const [what, marks, now, trusted] of table) {
      const mark = marks.map(hour).reduce<Parameters<typeof nextMark>[0]>(nextMark, undefined);
      t.equal(trustedMs(mark, hour(now)), hour(trusted), what);
    }
    t.end();
  },
);

t.test('a clock that was never set is not recorded, and so nothing is a jump from it', (t) => {
  const folder = temporaryFolder(t);
  const { now } = Date;
  t.teardown(() => Object.assign(Date, { now }));
  for (const [ms, mark] of [
    [day(-1), undefined],
    [day(9), { lastMs: day(9), jumpedMs: 0, beforeMs: 0 }],
  ] as const) {
    Date.now = () => ms;
    markClock(new DataDirectory(folder))();
    t.strictSame(readMark(new DataDirectory(folder)), mark);
  }
  t.end();
});
