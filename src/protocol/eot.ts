import { EOT_CHARS, EOT_YEARS } from '../base/limits.ts';

/**
 * Event Occurrence Time (spec 2.1; src/http/README.md, "Time"): an ISO 8601 local time with an offset, converted to nanoseconds
 * since 1970-01-01T00:00:00Z. Date is not used: it rounds to milliseconds, and accepts the 31st of February.
 */

/**
 * The form of an eot, extended or basic. It also takes dates and times that do not exist, such as the 31st of February; `eotToNs`
 * does not. Written so that ECMAScript and Python read it alike.
 */
export const EOT_SHAPE =
  /^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?|[0-9]{8}[Tt ][0-9]{4}(?:[0-9]{2}(?:[.,][0-9]+)?)?)(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)$/;
const NS_DIGITS = 9;
const NS_PER_S = 1_000_000_000n;
const FIRST_S = daysSinceEpoch({ year: EOT_YEARS.first, month: 1, day: 1 }) * 86_400;
const END_S = daysSinceEpoch({ year: EOT_YEARS.last + 1, month: 1, day: 1 }) * 86_400;

/**
 * @returns nanoseconds since the Unix epoch (further digits are truncated), or undefined if `text` is not a
 * valid eot: `eotFault` then says why.
 */
export function eotToNs(text: string): bigint | undefined {
  if (text.length > EOT_CHARS || !EOT_SHAPE.test(text)) return undefined;
  const { date, daySeconds, offset, fraction } = partsOf(text);
  if (!isRealDate(date) || daySeconds === undefined || offset === undefined) return undefined;
  const seconds = daysSinceEpoch(date) * 86_400 + daySeconds - offset * 60;
  if (seconds < FIRST_S || seconds >= END_S) return undefined;
  return BigInt(seconds) * NS_PER_S + BigInt(fraction);
}

/** @returns the rule that an invalid eot breaks, as the end of a sentence that starts with "eot". */
export function eotFault(text: string): string {
  const example = 'such as 2026-03-14T15:09:26.535Z';
  if (text.length > EOT_CHARS) return `must be at most ${EOT_CHARS} characters`;
  if (EOT_SHAPE.test(`${text}Z`)) return `must end with a time zone offset, ${example}`;
  if (!EOT_SHAPE.test(text)) return `must be an ISO 8601 time with an offset, ${example}`;
  const { date, daySeconds, offset } = partsOf(text);
  const inYears = `must be in the years ${EOT_YEARS.first} to ${EOT_YEARS.last}, in UTC`;
  // An offset may take it into the year before or after.
  if (date.year < EOT_YEARS.first - 1 || date.year > EOT_YEARS.last + 1) return inYears;
  if (!isRealDate(date)) return 'must be a real calendar date';
  if (offset === undefined) return 'must have an offset of at most 23:59';
  if (daySeconds === undefined) return 'must be a time of day from 00:00:00 to 23:59:60, or 24:00:00';
  return inYears;
}

interface CalendarDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** @param text that matches EOT_SHAPE. @returns its parts: whole seconds since midnight, minutes east of UTC, nanoseconds of the fraction. */
function partsOf(text: string) {
  // The parts of the extended form are separated: each begins further behind.
  const step = text.charCodeAt(4) === HYPHEN ? 1 : 0;
  const date = {
    year: digits(text, 0, 4),
    month: digits(text, 4 + step, 6 + step),
    day: digits(text, 6 + 2 * step, 8 + 2 * step),
  };
  const hour = digits(text, 9 + 2 * step, 11 + 2 * step);
  const minute = digits(text, 11 + 3 * step, 13 + 3 * step);
  const secondAt = 13 + 4 * step;
  const hasSecond = step === 1 ? text.charCodeAt(16) === COLON : isDigit(text, 13);
  const second = hasSecond ? digits(text, secondAt, secondAt + 2) : 0;
  return {
    date,
    daySeconds: secondsOf(text, hour, minute, second),
    offset: offsetMinutes(text),
    fraction: hasSecond ? fractionOf(text, secondAt + 2) : 0,
  };
}

/** @returns whole seconds since midnight, or undefined if no clock shows that time. */
function secondsOf(text: string, hour: number, minute: number, second: number): number | undefined {
  // Second 60 (a leap second) counts as the next second: the sum carries over. 24:00 is the end of the day.
  const isEnd = hour === 24 && minute === 0 && second === 0 && !FRACTION_ABOVE_0.test(text);
  return isEnd || (hour <= 23 && minute <= 59 && second <= 60)
    ? (hour * 60 + minute) * 60 + second
    : undefined;
}

const FRACTION_ABOVE_0 = /[.,]0*[1-9]/;
const [HYPHEN, COLON, POINT, COMMA, UPPER_Z, LOWER_Z] = [0x2d, 0x3a, 0x2e, 0x2c, 0x5a, 0x7a];

function isRealDate({ year, month, day }: CalendarDate): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month);
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Days since 1970-01-01 in the Gregorian calendar, of years that begin in March (Hinnant, "chrono-compatible date algorithms"). */
function daysSinceEpoch({ year, month, day }: CalendarDate): number {
  const y = month <= 2 ? year - 1 : year;
  const leapDays = Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return y * 365 + leapDays + dayOfYear - 719_468;
}

/** @returns minutes east of UTC, or undefined if the offset is above 23:59. */
function offsetMinutes(text: string): number | undefined {
  const last = text.charCodeAt(text.length - 1);
  if (last === UPPER_Z || last === LOWER_Z) return 0;
  // The hyphens of the date are before it.
  const start = Math.max(text.indexOf('+', 13), text.indexOf('-', 13));
  const hours = digits(text, start + 1, start + 3);
  const minutes = text.length > start + 3 ? digits(text, text.length - 2, text.length) : 0;
  if (hours > 23 || minutes > 59) return undefined;
  return text.charCodeAt(start) === HYPHEN ? -(hours * 60 + minutes) : hours * 60 + minutes;
}

/** @returns the fraction of the second in nanoseconds, truncated after nine digits. */
function fractionOf(text: string, from: number): number {
  const mark = text.charCodeAt(from);
  if (mark !== POINT && mark !== COMMA) return 0;
  let value = 0;
  let seen = 0;
  for (let at = from + 1; seen < NS_DIGITS && isDigit(text, at); at++, seen++) {
    value = value * 10 + text.charCodeAt(at) - 48;
  }
  return value * 10 ** (NS_DIGITS - seen);
}

function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) value = value * 10 + text.charCodeAt(at) - 48;
  return value;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}
