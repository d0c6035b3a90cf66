export const DAY_MS = 86_400_000;
export const NS_PER_MS = 1_000_000n;

/** @returns a time span for people: "4 min 12 s", "3.4 s", "2 d 5 h". */
export function span(seconds: number): string {
  if (seconds < 10 && !Number.isInteger(seconds)) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const [[name, length] = SECOND, [less, shorter] = SECOND] = UNITS.filter(([, length]) => whole >= length);
  const rest = Math.floor((whole % length) / shorter);
  return `${Math.floor(whole / length)} ${name}${rest > 0 ? ` ${rest} ${less}` : ''}`;
}

const SECOND = ['s', 1] as const;
const UNITS = [['d', 86_400], ['h', 3_600], ['min', 60], SECOND] as const;

/** @returns the same in at most six characters: "12s", "4m", "3h", "2d". */
export function shortSpan(seconds: number): string {
  const [name, length] = UNITS.find(([, length]) => seconds >= length) ?? SECOND;
  return `${Math.round(seconds / length)}${name[0]}`;
}

/** @returns how long ago an ISO 8601 time was, in at most six characters; '-' if there is none. */
export function shortAgo(time: string | null, nowMs: number): string {
  return time === null ? '-' : shortSpan(Math.max(0, (nowMs - Date.parse(time)) / 1_000));
}

/** @returns bytes for people, as large as they are: "12.0 MiB", "3.4 GiB". */
export function bytesFor(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let [size, at] = [bytes, 0];
  for (; size >= 1024 && at < units.length - 1; at++) size /= 1024;
  return at === 0 ? `${size} B` : `${size.toFixed(1)} ${units[at]}`;
}

/** @returns a count with its noun: "1 event", "2 events". @param many where it is not the noun with an s. */
export function counted(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`;
}

/** The end of the year 9999, in milliseconds since 1970-01-01T00:00:00Z: what ISO 8601 has four digits for. */
const TIME_MAX = Date.UTC(10_000, 0) - 1;

/** Whether courtd may have written it: milliseconds since 1970-01-01T00:00:00Z. */
export const isTime = (ms: unknown) => typeof ms === 'number' && ms >= 0 && ms <= TIME_MAX;

/** @returns an ISO 8601 time in UTC; null for null. */
export function isoTime(ms: number): string;
export function isoTime(ms: number | null): string | null;
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
