import fc from 'fast-check';
import t from 'tap';
import { EOT_CHARS } from '../../src/base/limits.ts';
import { eotFault, eotToNs } from '../../src/protocol/eot.ts';
import { anyEot, oracleNs } from '../harness/eotOracle.ts';

t.test('known instants are reckoned to the nanosecond', async (t) => {
  const cases: [eot: string, ns: bigint][] = [
    ['1970-01-01T00:00Z', 0n],
    ['1970-01-01T00:00:00.000000001Z', 1n],
    ['1969-12-31T23:59:59.999999999Z', -1n],
    ['2026-03-14T15:09:26.535Z', 1_773_500_966_535_000_000n],
    ['2026-03-14T15:09Z', 1_773_500_940_000_000_000n],
    ['2026-03-14T16:09:26,5+01', 1_773_500_966_500_000_000n],
    ['2026-03-14T20:54:26.5+0545', 1_773_500_966_500_000_000n],
    ['2026-03-14T11:39:26.5-03:30', 1_773_500_966_500_000_000n],
    ['2026-03-14T15:09:26-00:00', 1_773_500_966_000_000_000n],
    ['2024-02-29T00:00:00Z', 1_709_164_800_000_000_000n],
    ['2000-02-29T12:00:00Z', 951_825_600_000_000_000n],
    ['20260314T150926.535Z', 1_773_500_966_535_000_000n],
    ['20260314 1609+01:00', 1_773_500_940_000_000_000n],
    ['20260314t150926,5-0000', 1_773_500_966_500_000_000n],
    ['2026-03-14 15:09:26.535000+00:00', 1_773_500_966_535_000_000n],
    ['2026-03-14t15:09:26z', 1_773_500_966_000_000_000n],
    ['2026-03-13T24:00Z', 1_773_446_400_000_000_000n],
    ['20260313T240000,000000000000+00', 1_773_446_400_000_000_000n],
    ['2024-02-29T24:00:00-01:00', 1_709_254_800_000_000_000n],
  ];
  for (const [eot, ns] of cases) t.equal(eotToNs(eot), ns, eot);
});

t.test('digits beyond the nanosecond are accepted and not compared', async (t) => {
  t.equal(eotToNs('1970-01-01T00:00:00.1234567899999Z'), 123_456_789n);
  t.equal(eotToNs('1970-01-01T00:00:00.0000000009Z'), 0n);
});

t.test('second 60 counts as the next second, over the end of a day and of a year', async (t) => {
  t.equal(eotToNs('2016-12-31T23:59:60Z'), eotToNs('2017-01-01T00:00:00Z'));
  t.equal(eotToNs('2016-12-31T23:59:60.25Z'), eotToNs('2017-01-01T00:00:00.25Z'));
  t.equal(eotToNs('2026-01-01T00:59:60+01:00'), eotToNs('2026-01-01T00:00:00Z'));
});

t.test('the years are those in UTC, and each of their nanoseconds fits 64 bits', async (t) => {
  const inside = [
    '1678-01-01T00:00:00Z',
    '1677-12-31T00:01:00-23:59',
    '2261-12-31T23:59:59.999999999Z',
    '2262-01-01T23:58:59.999999999+23:59',
  ];
  for (const eot of inside) t.equal(BigInt.asIntN(64, eotToNs(eot)!), eotToNs(eot), eot);
  const outside = [
    '1677-12-31T23:59:59.999999999Z',
    '1678-01-01T23:58:59.999999999+23:59',
    '2261-12-31T23:59:60Z',
    '2261-12-31T24:00Z',
    '2261-12-31T00:01:00-23:59',
  ];
  for (const eot of outside) {
    t.equal(eotToNs(eot), undefined, eot);
    t.equal(eotFault(eot), YEARS, eot);
  }
});

t.test('an eot in any form has the instant that a second parser finds', async (t) => {
  let valid = 0;
  const property = fc.property(anyEot, (text) => {
    const ns = eotToNs(text);
    if (ns !== undefined) valid++;
    return ns === oracleNs(text);
  });
  const tried = 4_000;
  fc.assert(property, { numRuns: tried });
  t.ok(valid > tried / 3 && valid < tried, `${valid} of ${tried} are valid`);
});

t.test('a text close to an eot is valid exactly if a second parser accepts it', async () => {
  const edit = fc.record({
    at: fc.nat({ max: 40 }),
    out: fc.nat({ max: 2 }),
    text: fc.string({ unit: fc.constantFrom(...'0123456789-+:.,TtZz ', '\u0661'), maxLength: 2 }),
  });
  const property = fc.property(anyEot, fc.array(edit, { minLength: 1, maxLength: 2 }), (eot, edits) => {
    const text = edits.reduce((all, { at, out, text }) => all.slice(0, at) + text + all.slice(at + out), eot);
    return eotToNs(text) === oracleNs(text);
  });
  fc.assert(property, { numRuns: 4_000 });
});

const OF_A_DAY = 'must be a time of day from 00:00:00 to 23:59:60, or 24:00:00';
const OFFSET = 'must have an offset of at most 23:59';
const CALENDAR = 'must be a real calendar date';
const YEARS = 'must be in the years 1678 to 2261, in UTC';
const NO_OFFSET = /^must end with a time zone offset/;
const SHAPE = /^must be an ISO 8601 time with an offset/;

t.test('a text that is no eot is rejected with its fault', async (t) => {
  const cases: [fault: string | RegExp, eots: string][] = [
    [NO_OFFSET, '2026-03-14T15:09|2026-03-14T15:09:26|2026-03-14T15:09:26.535|2026-02-31T99:99'],
    [SHAPE, '|Z|now|0|1773500966|1773500966535|2026|2026-03-14|2026-03-14Z|2026-03-14  15:09:26Z'],
    [SHAPE, '2026-03-14_15:09:26Z|2026-03-1415:09:26Z|20260314150926Z|20260314T15:09:26Z|2026-03-14T1509Z'],
    [SHAPE, '202603-14T150926Z|2026-0314T15:09:26Z|20260314T15Z| 2026-03-14T15:09:26Z|2026-03-14T15:09:26Z '],
    [SHAPE, '2026-03-14T15:09:26Z\n|2026-03-14T15:09:26Z\0|2026-03-14T15Z|2026-03-14T15:9:26Z'],
    [SHAPE, '2026-3-14T15:09:26Z|26-03-14T15:09:26Z|12026-03-14T15:09:26Z|+002026-03-14T15:09:26Z'],
    [SHAPE, '-2026-03-14T15:09:26Z|2026-W11-6T15:09Z|2026-073T15:09:26Z|2026/03/14T15:09:26Z'],
    [SHAPE, '2026-03-14T15.09.26Z|2026-03-14T150926Z|2026-03-14T15:09:26.Z|2026-03-14T15:09:26,Z'],
    [SHAPE, '2026-03-14T15:09:26.5.5Z|2026-03-14T15:09.5Z|2026-03-14T15:09:26ZZ|2026-03-14T15:09:26Z+00:00'],
    [SHAPE, '2026-03-14T15:09:26 Z|2026-03-14T15:09:26UTC|2026-03-14T15:09:26+1|2026-03-14T15:09:26+010'],
    [
      SHAPE,
      '2026-03-14T15:09:26+01:|2026-03-14T15:09:26+01:0|2026-03-14T15:09:26+01:00:00|2026-03-14T15:09:26+',
    ],
    [
      SHAPE,
      '2026-03-14T15:09:26\u221201:00|2026-03-14T15:09:26+01:00[Europe/Paris]|2026-03-14T15:09:26Z[UTC]',
    ],
    [SHAPE, '2026-03-14T15:09:26e0Z|\u0662\u0660\u0662\u0666-03-14T15:09:26Z|2026-03-14T15:09:2\uff16Z'],
    [SHAPE, '2026-03-14T-1:09:26Z'],
    [YEARS, '0000-01-01T00:00:00Z|1676-12-31T23:59:59Z|1677-12-31T15:09Z|2263-01-01T00:00:00Z'],
    [YEARS, '9999-99-99T99:99:99Z'],
    [CALENDAR, '2026-00-14T15:09Z|2026-13-14T15:09Z|2026-03-00T15:09Z|2026-03-32T15:09Z|2026-02-29T15:09Z'],
    [CALENDAR, '2026-02-31T15:09Z|2100-02-29T15:09Z|1900-02-29T15:09Z|2024-02-30T15:09Z|2026-04-31T15:09Z'],
    [CALENDAR, '2026-06-31T15:09Z|2026-11-31T15:09Z'],
    [OFFSET, '2026-03-14T15:09+24:00|2026-03-14T15:09-24|2026-03-14T15:09+2400|2026-03-14T15:09+00:60'],
    [OF_A_DAY, '2026-03-14T24:00:01Z|2026-03-14T24:01Z|2026-03-14T15:60:00Z|2026-03-14T15:09:61Z'],
    [OF_A_DAY, '2026-03-14T24:00:00.0000000001Z|20260314T240060Z|20260314T2500Z|2026-03-14T25:00Z'],
  ];
  for (const [fault, eots] of cases) {
    for (const eot of eots.split('|')) {
      t.equal(eotToNs(eot), undefined, JSON.stringify(eot));
      if (fault instanceof RegExp) t.match(eotFault(eot), fault, JSON.stringify(eot));
      else t.equal(eotFault(eot), fault, JSON.stringify(eot));
    }
  }
});

t.test('64 characters are an eot, 65 are not', async (t) => {
  const sized = (chars: number) => `${'2026-03-14T15:09:26.5'.padEnd(chars - 1, '0')}Z`;
  t.equal(eotToNs(sized(EOT_CHARS)), eotToNs('2026-03-14T15:09:26.5Z'));
  t.equal(eotToNs(sized(EOT_CHARS + 1)), undefined);
  t.equal(eotFault(sized(EOT_CHARS + 1)), 'must be at most 64 characters');
});

t.test('hostile long texts are refused at once', async (t) => {
  const long = 1_000_000;
  for (const eot of [
    '2026-03-14T15:09:26.'.padEnd(long, '0'),
    '9'.repeat(long),
    '+'.repeat(long),
    'Z'.repeat(long),
  ]) {
    t.equal(eotToNs(eot), undefined);
    t.equal(eotFault(eot), 'must be at most 64 characters');
  }
});
