import { EOT_CHARS, EOT_YEARS } from '../base/limits.ts';

/**
 * Event Occurrence Time (spec 2.1; src/http/README.md, "The event"): an ISO 8601 local time with an offset, converted to
 * nanoseconds since 1970-01-01T00:00:00Z. Date is not used: it rounds to milliseconds, and accepts the 31st of February.
 */

/** The form of an eot. It also takes dates and times that do not exist, such as the 31st of February; `eotToNs` does not. */
export const EOT_SHAPE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)$/;
const NS_DIGITS = 9;
const NS_PER_S = 1_000_000_000n;

/**
 * @returns nanoseconds since the Unix epoch (further digits are truncated), or undefined where `text` is not a
 * valid eot: `eotFault` then says why.
 */
export function eotToNs(text: string): bigint | undefined {
  if (text.length > EOT_CHARS || !EOT_SHAPE.test(text)) return undefined;
  const date = { year: digits(text, 0, 4), month: digits(text, 5, 7), day: digits(text, 8, 10) };
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const second = text[16] === ':' ? digits(text, 17, 19) : 0;
  if (!isRealDate(date) || hour > 23 || minute > 59 || second > 60) return undefined;
  const offset = offsetMinutes(text, offsetStart(text));
  if (offset === undefined) return undefined;
  // Second 60 (a leap second) counts as the next second: the sum carries over.
  const seconds = daysSinceEpoch(date) * 86_400 + (hour * 60 + minute - offset) * 60 + second;
  return BigInt(seconds) * NS_PER_S + BigInt(fractionOf(text));
}

/** @returns the rule that an invalid eot breaks, as the end of a sentence that starts with "eot". */
export function eotFault(text: string): string {
  const example = 'such as 2026-03-14T15:09:26.535Z';
  if (text.length > EOT_CHARS) return `must be at most ${EOT_CHARS} characters`;
  if (EOT_SHAPE.test(`${text}Z`)) return `must end with a time zone offset, ${example}`;
  if (!EOT_SHAPE.test(text)) return `must be an ISO 8601 time with an offset, ${example}`;
  const date = { year: digits(text, 0, 4), month: digits(text, 5, 7), day: digits(text, 8, 10) };
  if (date.year < EOT_YEARS.first || date.year > EOT_YEARS.last) {
    return `must be in the years ${EOT_YEARS.first} to ${EOT_YEARS.last}`;
  }
  if (!isRealDate(date)) return 'must be a real calendar date';
  if (offsetMinutes(text, offsetStart(text)) === undefined) return 'must have an offset of at most 23:59';
  return 'must be a time of day from 00:00:00 to 23:59:60';
}

interface CalendarDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

function isRealDate({ year, month, day }: CalendarDate): boolean {
  if (year < EOT_YEARS.first || year > EOT_YEARS.last || month < 1 || month > 12) return false;
  return day >= 1 && day <= daysInMonth(year, month);
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

/** @returns where the offset starts, in a text that matches EOT_SHAPE: the hyphens of its date are before index 16. */
function offsetStart(text: string): number {
  if (text.endsWith('Z')) return text.length - 1;
  return Math.max(text.indexOf('+', 16), text.indexOf('-', 16));
}

/** @returns minutes east of UTC, or undefined where the offset is above 23:59. */
function offsetMinutes(text: string, start: number): number | undefined {
  if (text[start] === 'Z') return 0;
  const hours = digits(text, start + 1, start + 3);
  const minutes = text.length > start + 3 ? digits(text, text.length - 2, text.length) : 0;
  if (hours > 23 || minutes > 59) return undefined;
  return text[start] === '-' ? -(hours * 60 + minutes) : hours * 60 + minutes;
}

/** @returns the fraction of the second in nanoseconds, truncated after nine digits. */
function fractionOf(text: string): number {
  const separator = text[19];
  if (separator !== '.' && separator !== ',') return 0;
  let value = 0;
  let seen = 0;
  for (let at = 20; seen < NS_DIGITS; at++, seen++) {
    const digit = text.charCodeAt(at) - 48;
    if (!(digit >= 0 && digit <= 9)) break;
    value = value * 10 + digit;
  }
  return value * 10 ** (NS_DIGITS - seen);
}

function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) value = value * 10 + text.charCodeAt(at) - 48;
  return value;
}
