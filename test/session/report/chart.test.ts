import t from 'tap';
import { ticks, wholeTicks } from '../../../src/session/report/chart.ts';

t.test('ticks are round values within their range', (t) => {
  t.strictSame(ticks([0, 27], 4), [0, 5, 10, 15, 20, 25]);
  t.strictSame(ticks([0, 110], 6), [0, 20, 40, 60, 80, 100]);
  t.strictSame(ticks([-7, 41], 4), [0, 10, 20, 30, 40]);
  t.strictSame(
    ticks([0, 1], 5).map((tick) => tick.toFixed(6)),
    ['0.000000', '0.200000', '0.400000', '0.600000', '0.800000', '1.000000'],
  );
  t.end();
});

t.test('counts have no ticks between whole numbers', (t) => {
  t.strictSame(
    [1, 2, 4].map((most) => wholeTicks(most).length),
    [2, 3, 5],
  );
  t.strictSame(wholeTicks(2.5, 3), [0, 1, 2]);
  t.strictSame(wholeTicks(46_000), [0, 10_000, 20_000, 30_000, 40_000]);
  t.end();
});
