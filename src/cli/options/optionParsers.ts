import { InvalidArgumentError, Option } from 'commander';
import { boxNameFault } from '../../base/boxName.ts';
import { NAME_CODE_POINTS } from '../../base/limits.ts';
import { type QuietHours, quietHoursOf } from '../../base/quietHours.ts';
import { isName } from '../../protocol/courtEvent.ts';
import { EVENT_TYPES } from '../../protocol/eventTypes.ts';

/** Parsers of options and arguments. Each error says what would be accepted. */

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** The longest duration, 1,000,000 days in seconds: a date plus or minus this is still a valid date. */
const DURATION_MAX_S = 1_000_000 * 86_400;

/** @returns a parser of "0", or an integer with s, m, h or d, to seconds that are valid. */
function seconds(isValid: (seconds: number) => boolean, advice: string): (text: string) => number {
  return (text) => {
    const [, digits, unit = ''] = /^(\d{1,15})([smhd])$/.exec(text) ?? [];
    const value = text === '0' ? 0 : Number(digits) * UNIT_SECONDS[unit]!;
    if (isValid(value) && value <= DURATION_MAX_S) return value;
    throw new InvalidArgumentError(advice);
  };
}

export const parseDuration = seconds(
  (value) => value >= 0,
  'Give 0 or a whole number with s, m, h or d, such as 24h.',
);
export const parsePeriod = seconds(
  (value) => value > 0,
  'Give a whole number above 0 with s, m, h or d, such as 90d.',
);
export const parseKeep = seconds(
  (value) => value === 0 || value >= 3_600,
  'Give at least 1h, such as 365d, or 0 to keep them for ever.',
);

const UNIT_BYTES: Readonly<Record<string, number>> = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** @returns a parser of sizes from `min` to `max` bytes: integers, alone or with KiB, MiB or GiB. */
export function sizeBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const [, digits, unit] = /^(\d{1,15})(|KiB|MiB|GiB)$/.exec(text) ?? [];
    if (digits === undefined)
      throw new InvalidArgumentError('Give a number of bytes, alone or with KiB, MiB or GiB, such as 8MiB.');
    const bytes = Number(digits) * UNIT_BYTES[unit!]!;
    if (bytes >= min && bytes <= max) return bytes;
    throw new InvalidArgumentError(`Give a size from ${min} to ${max} bytes.`);
  };
}

/** @returns a parser of whole numbers from `min` to `max`. */
export function integer(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `, ${min} or more` : ` from ${min} to ${max}`;
    throw new InvalidArgumentError(`Give a whole number${range}.`);
  };
}

export function notEmpty(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It must not be empty.');
}

export function parseQuietHours(text: string): QuietHours {
  const hours = quietHoursOf(text);
  if (hours !== undefined) return hours;
  throw new InvalidArgumentError(
    'Give two different times of the day with "-" between them, such as 23:00-07:00.',
  );
}

/** @returns a name that the protocol allows, such as a venue_id. */
export function parseName(text: string): string {
  if (isName(text)) return text;
  throw new InvalidArgumentError(
    `Give 1 to ${NAME_CODE_POINTS} characters, none of them a control character.`,
  );
}

/** @returns the name of a box, as it appears in the subjects of a fleet's log. */
export function parseBox(text: string): string {
  const fault = boxNameFault(text);
  if (fault === undefined) return text;
  throw new InvalidArgumentError(fault);
}

/** An option with its environment variable: `--body-limit` is COURTD_BODY_LIMIT. */
export function option(flags: string, description: string): Option {
  const made = new Option(flags, description);
  return made.env(`COURTD_${made.name().toUpperCase().replaceAll('-', '_')}`);
}

export function json(): Option {
  return new Option('--json', 'print JSON, for programs');
}

/** The option of every command that can write a file, which appears when it is complete. */
export function output(description = 'the file to write'): Option {
  return new Option('-o, --output <file>', description).argParser(notEmpty);
}

export function ofType(): Option {
  return new Option('--type <type>', 'only events of this type, such as BALL_HIT').choices(EVENT_TYPES);
}

export function runDir(description: string): Option {
  return option('--run-dir <dir>', description).argParser(notEmpty);
}
