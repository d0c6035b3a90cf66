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
const NS_DIGITS = 9;
const NS_PER_S = 1_000_000_000n;
const ZERO = 0x30;
const FIRST_S = Date.UTC(EOT_YEARS.first, 0) / 1_000;
const END_S = Date.UTC(EOT_YEARS.last + 1, 0) / 1_000;
const EXAMPLE = 'such as 2026-03-14T15:09:26.535Z';

/** @returns nanoseconds since the Unix epoch (further digits are truncated), or undefined if `text` is not a valid eot. */
export function eotToNs(text: string): bigint | undefined {
  const read = readEot(text);
  return typeof read === 'bigint' ? read : undefined;
}

/** @returns what `eotToNs` does, or the rule that an invalid eot breaks, as the end of a sentence that starts with "eot". */
export function readEot(text: string): bigint | string {
  if (text.length > EOT_CHARS) return `must be at most ${EOT_CHARS} characters`;
  if (!EOT_SHAPE.test(text)) {
    if (EOT_SHAPE.test(`${text}Z`)) return `must end with a time zone offset, ${EXAMPLE}`;
    return `must be an ISO 8601 time with an offset, ${EXAMPLE}`;
  }
  // Between two fields there is a separator, or none.
  const gap = text[4] === '-' ? 1 : 0;
  const [year, month, day] = [digitsAt(text, 0, 4), digitsAt(text, 4 + gap), digitsAt(text, 6 + 2 * gap)];
  const dayMs = Date.UTC(year, month - 1, day);
  const isInMonth = day > 0 && (day <= 28 || dayMs < Date.UTC(year, month));
  // Date.UTC takes the years 0 to 99 for 1900 to 1999.
  if (year < 100 || month < 1 || month > 12 || !isInMonth) return 'must be a real calendar date';
  const timeAt = 9 + 2 * gap;
  const signAt = Math.max(text.indexOf('+', timeAt), text.indexOf('-', timeAt));
  const zoneAt = signAt < 0 ? text.length - 1 : signAt;
  const zone = signAt < 0 ? '' : text.slice(zoneAt + 1).replace(':', '');
  const [zoneHours, zoneMinutes] = [digitsAt(zone, 0), digitsAt(zone, 2)];
  if (zoneHours > 23 || zoneMinutes > 59) return 'must have an offset of at most 23:59';
  const eastMinutes = (zoneHours * 60 + zoneMinutes) * (text[zoneAt] === '-' ? -1 : 1);
  const secondAt = timeAt + 4 + 2 * gap;
  const [hour, minute] = [digitsAt(text, timeAt), digitsAt(text, timeAt + 2 + gap)];
  const second = secondAt < zoneAt ? digitsAt(text, secondAt) : 0;
  const fraction = text.slice(secondAt + 3, zoneAt);
  // 24:00 is the end of the day, and second 60 (a leap second) counts as the next second: the sum carries over.
  const isEnd = hour === 24 && minute === 0 && second === 0 && !/[1-9]/.test(fraction);
  if (!isEnd && (hour > 23 || minute > 59 || second > 60))
    return 'must be a time of day from 00:00:00 to 23:59:60, or 24:00:00';
  const seconds = dayMs / 1_000 + (hour * 60 + minute - eastMinutes) * 60 + second;
  if (seconds < FIRST_S || seconds >= END_S)
    return `must be in the years ${EOT_YEARS.first} to ${EOT_YEARS.last}, in UTC`;
  return BigInt(seconds) * NS_PER_S + BigInt(digitsAt(fraction, 0, NS_DIGITS));
}

/** @returns the number that the digits are; one that is not there counts as 0. */
function digitsAt(text: string, at: number, length = 2): number {
  let number = 0;
  for (let i = at; i < at + length; i++)
    number = number * 10 + (i < text.length ? text.charCodeAt(i) - ZERO : 0);
  return number;
}
