import t from 'tap';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { EARLIEST_RECEIVED_MS } from '../../../src/base/limits.ts';
import { hasJustJumped, markClock, nextMark, readMark } from '../../../src/store/db/clockMark.ts';
import { temporaryFolder } from '../../harness/daemon.ts';

const DAY_MS = 86_400_000;
/** Day 0 is the first that the clock can have been right on. */
const day = (days: number) => EARLIEST_RECEIVED_MS + days * DAY_MS;

t.test('whether the clock has just jumped: hours of its marks, then of the prune', (t) => {
  const table: readonly (readonly [
    what: string,
    marks: readonly number[],
    now: number,
    hasJumped: boolean,
  ])[] = [
    ['never marked', [], 0, false],
    ['marked for the first time', [0], 0, false],
    ['an hour later', [0, 1, 2], 3, false],
    ['set by less than a day', [0, 1, 20, 2], 3, false],
    ['a year ahead since the last mark', [0, 1], 8_760, true],
    ['ahead, and the daemon has seen it', [0, 1, 8_760, 8_761], 8_762, true],
    ['ahead for a day', [0, 1, 8_760, 8_784], 8_784, false],
    ['ahead, and back again', [0, 1, 8_760, 8_761, 10], 11, true],
    ['back for a day', [0, 1, 8_760, 10, 34], 34, false],
    ['the daemon was off for a week', [0, 1], 169, true],
    ['and it runs again', [0, 1, 168, 169, 191], 192, false],
  ];
  const hour = (hours: number) => day(0) + hours * 3_600_000;
  for (const [what, marks, now, hasJumped] of table) {
    const mark = marks.map(hour).reduce<Parameters<typeof nextMark>[0]>(nextMark, undefined);
    t.equal(hasJustJumped(mark, hour(now)), hasJumped, what);
  }
  t.end();
});

t.test('a clock that was never set is not recorded, and so nothing is a jump from it', (t) => {
  const folder = temporaryFolder(t);
  const { now } = Date;
  t.teardown(() => Object.assign(Date, { now }));
  for (const [ms, mark] of [
    [day(-1), undefined],
    [day(9), { lastMs: day(9), steadySinceMs: 0 }],
  ] as const) {
    Date.now = () => ms;
    markClock(new DataDirectory(folder))();
    t.strictSame(readMark(new DataDirectory(folder)), mark);
  }
  t.end();
});
