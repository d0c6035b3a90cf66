import fc from 'fast-check';

/** A second reading of eot, by means other than `eotToNs`: Temporal, behind a mask of its forms in which a digit is "d". */

/** An eot has at most this many characters. */
const CHARS = 64;
const FORMS =
  /^(?:d{4}-dd-dd[Tt ]dd:dd(?::dd(?:[.,]d+)?)?|d{8}[Tt ]d{4}(?:dd(?:[.,]d+)?)?)(?:[Zz]|[+-]dd(?::?dd)?)$/;
const DAY_NS = 86_400_000_000_000n;
const SECOND_NS = 1_000_000_000n;
const nsOf = (text: string) => Temporal.Instant.from(text).epochNanoseconds;
const [FIRST_NS, END_NS] = [nsOf('1678-01-01T00:00Z'), nsOf('2262-01-01T00:00Z')];

/** @returns nanoseconds since 1970-01-01T00:00:00Z, or undefined if the text is no eot. */
export function oracleNs(text: string): bigint | undefined {
  if (text.length > CHARS || !FORMS.test(text.replace(/\d/g, 'd'))) return undefined;
  // Temporal takes neither hour 24 nor more than nine digits of a fraction, and reads second 60 as 59.
  const isMidnight = /[Tt ]24:?00(?::?00(?:[.,]0+)?)?[Zz+-]/.test(text);
  const isLeap = /[Tt ]\d\d:?\d\d:?60/.test(text);
  const plain = text.replace(/([Tt ])24/, isMidnight ? '$100' : '$&').replace(/([.,]\d{9})\d+/, '$1');
  try {
    const ns = nsOf(plain) + (isMidnight ? DAY_NS : 0n) + (isLeap ? SECOND_NS : 0n);
    return ns >= FIRST_NS && ns < END_NS ? ns : undefined;
  } catch {
    return undefined;
  }
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
