import { EOT_CHARS, EOT_YEARS } from '../base/limits.ts';

/**
 * Event Occurrence Time (spec 2.1; src/http/README.md, "Time"): an ISO 8601 local time with an offset, converted to nanoseconds
 * since 1970-01-01T00:00:00Z. Date.parse is not used: it rounds to milliseconds, and accepts the 31st of February.
 */

/**
 * The form of an eot, extended or basic. It also takes dates and times that do not exist, such as the 31st of February; `eotToNs`
 * does not. Written so that ECMAScript and Python read it alike.
 */
export const EOT_SHAPE =
  /^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?|[0-9]{8}[Tt ][0-9]{4}(?:[0-9]{2}(?:[.,][0-9]+)?)?)(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)$/;
/** The parts of a text that matches EOT_SHAPE, in either form. */
const PARTS = /^([\d-]+)[Tt ]([\d:]+)(?:[.,](\d+))?(.+)$/;
const NS_DIGITS = 9;
const NS_PER_S = 1_000_000_000n;
const DAY_S = 86_400;
const FIRST_S = daysSinceEpoch(EOT_YEARS.first, 1, 1)! * DAY_S;
const END_S = daysSinceEpoch(EOT_YEARS.last + 1, 1, 1)! * DAY_S;

/**
 * @returns nanoseconds since the Unix epoch (further digits are truncated), or undefined if `text` is not a
 * valid eot: `eotFault` then says why.
 */
export function eotToNs(text: string): bigint | undefined {
  if (text.length > EOT_CHARS || !EOT_SHAPE.test(text)) return undefined;
  const { days, daySeconds, offsetMinutes, nanoseconds } = partsOf(text);
  if (days === undefined || daySeconds === undefined || offsetMinutes === undefined) return undefined;
  const seconds = days * DAY_S + daySeconds - offsetMinutes * 60;
  if (seconds < FIRST_S || seconds >= END_S) return undefined;
  return BigInt(seconds) * NS_PER_S + BigInt(nanoseconds);
}

/** @returns the rule that an invalid eot breaks, as the end of a sentence that starts with "eot". */
export function eotFault(text: string): string {
  const example = 'such as 2026-03-14T15:09:26.535Z';
  if (text.length > EOT_CHARS) return `must be at most ${EOT_CHARS} characters`;
  if (EOT_SHAPE.test(`${text}Z`)) return `must end with a time zone offset, ${example}`;
  if (!EOT_SHAPE.test(text)) return `must be an ISO 8601 time with an offset, ${example}`;
  const { year, days, daySeconds, offsetMinutes } = partsOf(text);
  const inYears = `must be in the years ${EOT_YEARS.first} to ${EOT_YEARS.last}, in UTC`;
  // An offset may take it into the year before or after.
  if (year < EOT_YEARS.first - 1 || year > EOT_YEARS.last + 1) return inYears;
  if (days === undefined) return 'must be a real calendar date';
  if (offsetMinutes === undefined) return 'must have an offset of at most 23:59';
  if (daySeconds === undefined) return 'must be a time of day from 00:00:00 to 23:59:60, or 24:00:00';
  return inYears;
}

/** @param text that matches EOT_SHAPE. @returns its parts; undefined for a date, a time of day or an offset that does not exist. */
function partsOf(text: string) {
  const [, dashed = '', timed = '', fraction = '', zone = ''] = PARTS.exec(text)!;
  const date = dashed.replaceAll('-', '');
  const time = timed.replaceAll(':', '');
  const nanoseconds = Number(fraction.slice(0, NS_DIGITS).padEnd(NS_DIGITS, '0'));
  const year = Number(date.slice(0, 4));
  const [hour, minute, second] = [time.slice(0, 2), time.slice(2, 4), time.slice(4)].map(Number);
  // 24:00 is the end of the day, and second 60 (a leap second) counts as the next second: the sum carries over.
  const isEnd = hour === 24 && minute === 0 && second === 0 && !/[1-9]/.test(fraction);
  const isTime = isEnd || (hour! <= 23 && minute! <= 59 && second! <= 60);
  return {
    year,
    days: daysSinceEpoch(year, Number(date.slice(4, 6)), Number(date.slice(6))),
    daySeconds: isTime ? (hour! * 60 + minute!) * 60 + second! : undefined,
    offsetMinutes: offsetOf(zone),
    nanoseconds,
  };
}

/** @returns days since 1970-01-01 in the Gregorian calendar; undefined for a date that does not exist, and for the years 0 to 99. */
function daysSinceEpoch(year: number, month: number, day: number): number | undefined {
  const date = new Date(Date.UTC(year, month - 1, day));
  const isReal =
    date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isReal ? date.getTime() / (DAY_S * 1_000) : undefined;
}

/** @param zone such as `Z`, `+05`, `-0330` or `+05:30`. @returns minutes east of UTC, or undefined if it is above 23:59. */
function offsetOf(zone: string): number | undefined {
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', ''))];
  if (hours > 23 || minutes > 59) return undefined;
  return zone.startsWith('-') ? -(hours * 60 + minutes) : hours * 60 + minutes;
}
