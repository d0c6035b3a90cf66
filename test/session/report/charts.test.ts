import t from 'tap';
import { Bins } from '../../../src/base/bins.ts';
import { histogram, timelineFigure } from '../../../src/session/report/charts.ts';

t.test('a bar of counts has its number in its middle, and counts have no decimals', (t) => {
  const lengths = new Bins(1);
  for (const length of [1, 4, 4, 8]) lengths.add(length);
  const of = { title: 'Length', of: 'rallies', unit: 'shots', total: '4 rallies', widths: [1, 2] };
  const { text } = histogram(lengths, { ...of, noun: 'shot' });
  t.match(text, 'median 4 shots, 95th percentile 7 shots');
  const middles = [...text.matchAll(/<rect x="([\d.]+)"[^>]* width="([\d.]+)"/g)].map(
    ([, x, width]) => Number(x) + Number(width) / 2,
  );
  const [tick] = [...text.matchAll(/<text x="([\d.]+)"[^>]*>4<\/text>/g)].map(([, x]) => Number(x));
  t.ok(Math.abs(middles[1]! - tick!) < 0.1, `${middles[1]} and ${tick}`);
  const one = new Bins(1);
  one.add(1);
  t.notMatch(histogram(one, { ...of, noun: 'shot' }).text, />-?\d\.\d<\/text>/, 'no ticks between');
  t.end();
});

t.test('the timeline of a session of days takes longer steps, and no more of them', (t) => {
  const minutes = new Bins(1);
  for (let i = 0; i < 3_000; i++) minutes.add(3 * i);
  const { text } = timelineFigure(minutes);
  t.match(text, /at most 6 in 16 min, from 1970-01-01/);
  t.equal(text.match(/<rect /g)?.length, Math.ceil((3 * 3_000) / 16));
  t.end();
});
