import { InvalidArgumentError } from 'commander';
import { NS_PER_MS } from '../../base/units.ts';
import { eotToNs } from '../../protocol/eot.ts';
import { parsePeriod } from './optionParsers.ts';

/** Times as people type them: local time, unless they have an offset. */

export const TIMES_HELP = 'A time is 14:00 (today), 2026-03-14 or 2026-03-14T14:00 (local), or any eot.';

const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME_OF_DAY = /^\d\d:/;

/** @returns nanoseconds since the epoch. */
export function parseTime(text: string): bigint {
  const ns = eotToNs(text);
  if (ns !== undefined) return ns;
  if (DATE.test(text)) return localNs(`${text}T00:00`);
  return localNs(TIME_OF_DAY.test(text) ? `${new Date().toLocaleDateString('sv-SE')}T${text}` : text);
}

/** @returns milliseconds since 1970-01-01T00:00:00Z. Takes a time, or an age: an integer with s, m, h or d. */
export function parseTimeOrAge(text: string): number {
  if (/^\d+[smhd]?$/.test(text)) return Date.now() - 1_000 * parsePeriod(text);
  return Number(parseTime(text) / NS_PER_MS);
}

/** @returns a day in local time, from its midnight to the next, in nanoseconds since 1970-01-01T00:00:00Z. */
export function parseDay(text: string): { readonly since: bigint; readonly until: bigint } {
  if (!DATE.test(text)) throw new InvalidArgumentError('Give a day, such as 2026-03-14.');
  const since = localNs(`${text}T00:00`);
  const next = new Date(Number(since / NS_PER_MS));
  next.setHours(24, 0, 0, 0);
  return { since, until: BigInt(next.getTime()) * NS_PER_MS };
}

/** Parses a time without an offset as UTC, which validates it, and then as the moment at which a local clock shows it. */
function localNs(text: string): bigint {
  const ns = eotToNs(`${text}Z`);
  if (ns === undefined)
    throw new InvalidArgumentError(
      'Give a real time, such as 14:00, 2026-03-14, 2026-03-14T14:00 or 2026-03-14T14:00+01:00.',
    );
  const ms = ns / NS_PER_MS;
  // Without its Z, JavaScript reads it as local time.
  const localMs = Date.parse(new Date(Number(ms)).toISOString().slice(0, -1));
  return ns + (BigInt(localMs) - ms) * NS_PER_MS;
}
