import { membersOf } from '../base/json.ts';
import { TOKEN_BYTES } from '../base/limits.ts';

/** What a file that leaves the venue must not hold: tokens, payloads, keys. */

/** 32 bytes as base64url (tokens.ts): a camera may have sent its token as an id. */
const TOKEN = new RegExp(`(?<![\\w-])[\\w-]{${Math.ceil((TOKEN_BYTES * 8) / 6)}}(?![\\w-])`, 'g');
/** Texts of a log line that are courtd's own, or name a client; `error` quotes what a camera has sent. */
const TEXTS =
  'level time msg problem message reason request_id client code source court_id signal host socket';

export function withoutTokens(text: string): string {
  return text.replace(TOKEN, '(removed)');
}

/**
 * @param entry a line of `journalctl --output=json`.
 * @returns it for people, without what may be of an event; undefined if nothing is left.
 */
export function logLineWithoutData(entry: string): string | undefined {
  const known = membersOf(entry) as Record<string, unknown>;
  const { __REALTIME_TIMESTAMP: us, SYSLOG_IDENTIFIER: from, MESSAGE: message } = known;
  if (typeof message !== 'string') return undefined;
  const at = us === undefined ? '' : `${new Date(Number(us) / 1000).toISOString()} `;
  if (from === 'systemd') return `${at}systemd: ${message}`;
  const line = membersOf(message);
  if (Object.keys(line).length > 0) return `${at}${JSON.stringify(ownFields(line))}`;
  // A crash has its place in the code here, and not its message.
  return /^\s+at /.test(message) ? `${at}${message}` : undefined;
}

/** Numbers, courtd's own words, and the kind and place of an error. */
function ownFields(line: object): object {
  const fields = Object.entries(line).flatMap(([name, value]): [string, unknown][] => {
    if (typeof value === 'number' || typeof value === 'boolean') return [[name, value]];
    if (name === 'err') return [[name, placesOf(value)]];
    return typeof value === 'string' && TEXTS.split(' ').includes(name) ? [[name, value]] : [];
  });
  return Object.fromEntries(fields);
}

function placesOf(error: { type?: unknown; stack?: unknown } | null): object {
  const places = String(error?.stack ?? '').match(/^\s+at .*$/gm) ?? [];
  return { type: String(error?.type ?? ''), stack: places.map((place) => place.trim()) };
}
