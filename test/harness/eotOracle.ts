import fc from 'fast-check';

/**
 * A second reading of eot, by other means than `eotToNs`: the finite list of its forms as masks (a digit is "d"), and the days of
 * the calendar counted one year and one month after the other.
 */

interface Form {
  readonly hasSeconds: boolean;
  readonly fractionDigits: number;
  readonly zone: string;
}

/** An eot has at most this many characters. */
const CHARS = 64;

function forms(): Map<string, Form> {
  const all = new Map<string, Form>();
  const fractions = ['', ...Array.from({ length: CHARS }, (_, i) => 'd'.repeat(i + 1))];
  for (const [date, clock, seconds] of [
    ['dddd-dd-dd', 'dd:dd', ':dd'],
    ['dddddddd', 'dddd', 'dd'],
  ] as const) {
    for (const zone of [
      'Z',
      'z',
      ...['+', '-'].flatMap((sign) => ['dd', 'dddd', 'dd:dd'].map((z) => sign + z)),
    ]) {
      for (const between of ['T', 't', ' ']) {
        const start = `${date}${between}${clock}`;
        all.set(`${start}${zone}`, { hasSeconds: false, fractionDigits: 0, zone });
        for (const fraction of fractions) {
          for (const mark of fraction === '' ? [''] : ['.', ',']) {
            const form = { hasSeconds: true, fractionDigits: fraction.length, zone };
            all.set(`${start}${seconds}${mark}${fraction}${zone}`, form);
          }
        }
      }
    }
  }
  return all;
}

const FORMS = forms();

const isLeap = (year: bigint) => (year % 4n === 0n && year % 100n !== 0n) || year % 400n === 0n;
const monthDays = (year: bigint) => [
  31n,
  isLeap(year) ? 29n : 28n,
  31n,
  30n,
  31n,
  30n,
  31n,
  31n,
  30n,
  31n,
  30n,
  31n,
];

/** Days from 1970-01-01 to the first of January of each year that may be written. */
const YEAR_STARTS = new Map<bigint, bigint>([[1970n, 0n]]);
for (let year = 1970n; year < 2263n; year++) {
  YEAR_STARTS.set(year + 1n, YEAR_STARTS.get(year)! + (isLeap(year) ? 366n : 365n));
}
for (let year = 1969n; year >= 1677n; year--) {
  YEAR_STARTS.set(year, YEAR_STARTS.get(year + 1n)! - (isLeap(year) ? 366n : 365n));
}

/** @returns nanoseconds since 1970-01-01T00:00:00Z, or undefined if the text is no eot. */
export function oracleNs(text: string): bigint | undefined {
  const form = text.length > CHARS ? undefined : FORMS.get(text.replace(/[0-9]/g, 'd'));
  if (form === undefined) return undefined;
  let rest = text.replace(/[^0-9]/g, '');
  const next = (count: number): bigint => {
    const part = rest.slice(0, count);
    rest = rest.slice(count);
    return BigInt(part === '' ? 0 : part);
  };
  const [year, month, day, hour, minute] = [next(4), next(2), next(2), next(2), next(2)];
  const second = form.hasSeconds ? next(2) : 0n;
  const fraction = rest.slice(0, form.fractionDigits);
  rest = rest.slice(form.fractionDigits);
  const [east, eastMinutes] = [next(2), next(2)];
  const yearStart = YEAR_STARTS.get(year);
  const months = monthDays(year);
  if (yearStart === undefined || month < 1n || month > 12n) return undefined;
  if (day < 1n || day > months[Number(month) - 1]!) return undefined;
  if (minute > 59n || second > 60n || hour > 24n || east > 23n || eastMinutes > 59n) return undefined;
  if (hour === 24n && (minute > 0n || second > 0n || /[1-9]/.test(fraction))) return undefined;
  const days = months.slice(0, Number(month) - 1).reduce((sum, count) => sum + count, yearStart + day - 1n);
  const offset = (east * 60n + eastMinutes) * (form.zone.startsWith('-') ? -60n : 60n);
  const seconds = days * 86_400n + hour * 3_600n + minute * 60n + second - offset;
  if (seconds < YEAR_STARTS.get(1678n)! * 86_400n || seconds >= YEAR_STARTS.get(2262n)! * 86_400n)
    return undefined;
  return seconds * 1_000_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9));
}

const two = (n: number) => String(n).padStart(2, '0');
/** Mostly within its bounds, often at one of them, sometimes outside. */
const field = (least: number, most: number) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: least, max: most }) },
    { weight: 1, arbitrary: fc.constantFrom(least, most) },
    { weight: 1, arbitrary: fc.integer({ min: Math.max(0, least - 1), max: most + 1 }) },
  );
const zone = fc
  .tuple(
    fc.constantFrom('Z', 'z', 'hh', 'hhmm', 'hh:mm'),
    fc.constantFrom('+', '-'),
    field(0, 23),
    field(0, 59),
  )
  .map(([form, sign, hours, minutes]) =>
    form.length === 1 ? form : `${sign}${form.replace('hh', two(hours)).replace('mm', two(minutes))}`,
  );
const clock = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(field(0, 23), field(0, 59), field(0, 59)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant(23), fc.constant(59), fc.constant(60)) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constant(24), fc.constantFrom(0, 0, 0, 1), fc.constantFrom(0, 0, 0, 1)),
  },
);
const fraction = fc.oneof(
  fc.constant(''),
  fc.stringMatching(/^[.,]0{1,12}$/),
  fc.stringMatching(/^[.,][0-9]{1,12}$/),
  fc.stringMatching(/^[.,][0-9]{30,45}$/),
);

/** A text in one of the forms of an eot, mostly valid. @param years that are written in it. */
export function eotText(
  years: fc.Arbitrary<number>,
  months: fc.Arbitrary<number>,
  days: fc.Arbitrary<number>,
) {
  const date = fc.tuple(years.map(String), months.map(two), days.map(two));
  return fc
    .tuple(date, clock, fc.constantFrom('T', 't', ' '), fc.boolean(), fc.boolean(), fraction, zone)
    .map(([date, [hour, minute, second], between, isBasic, hasSeconds, fraction, zone]) => {
      const time = [hour, minute, ...(hasSeconds ? [second] : [])].map(two);
      const mark = isBasic ? '' : ':';
      return `${date.join(isBasic ? '' : '-')}${between}${time.join(mark)}${hasSeconds ? fraction : ''}${zone}`;
    });
}

/** Any eot, and what is one by a little not. */
export const anyEot = eotText(
  fc.oneof(
    fc.integer({ min: 1678, max: 2261 }),
    fc.constantFrom(1677, 1678, 1900, 2000, 2024, 2100, 2261, 2262),
  ),
  field(1, 12),
  fc.oneof(fc.integer({ min: 1, max: 28 }), fc.integer({ min: 27, max: 32 })),
);
