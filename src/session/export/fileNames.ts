import { hash } from 'node:crypto';

/** The longest file name without its extension, in bytes: file systems allow 255, some that encrypt allow 143. */
const NAME_BYTES = 100;
/** Hex digits of SHA-256 that make a shortened name unique. */
const HASH_DIGITS = 16;

/**
 * File names for sessions: letters, digits, `_`, `.` and `-` stay and everything else is percent-encoded, so that no name leaves
 * the directory, is hidden or looks like an option. Long names, and names that differ only in case (the file system of a USB
 * stick would treat them as one), end in a hash.
 * @returns each session_id with the name of its file, without the extension.
 */
export function fileNames(sessions: readonly string[]): Map<string, string> {
  // Both ways: file systems compare upper case, and three letters (σ, ς, Σ) may share one of them.
  const folded = (name: string) => encoded(name).normalize('NFC').toLowerCase().toUpperCase();
  const counts = new Map<string, number>();
  for (const name of sessions) counts.set(folded(name), (counts.get(folded(name)) ?? 0) + 1);
  return new Map(
    sessions.map((name) => [name, counts.get(folded(name)) === 1 ? shortened(name) : hashed(name)]),
  );
}

/**
 * The same file name for a session whatever the others are called, on every file system: lower-case letters of ASCII, digits, `_`,
 * `.` and `-` stay, everything else is percent-encoded, so that decodeURIComponent gives the session_id. Only names that would be too
 * long end in `~` and a hash.
 */
export function steadyName(session: string): string {
  const name = session.replace(/^[.-]|[^a-z0-9_.-]/gu, percent);
  if (name.length <= NAME_BYTES) return name;
  const start = name.slice(0, NAME_BYTES - HASH_DIGITS - 1).replace(/%[0-9A-F]?$/, '');
  return `${start}~${hash('sha256', session).slice(0, HASH_DIGITS)}`;
}

function encoded(name: string): string {
  return name.replace(/^[.-]|[^\p{L}\p{N}_.-]/gu, percent);
}

function percent(character: string): string {
  return Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '%$&');
}

function shortened(name: string): string {
  return Buffer.byteLength(encoded(name)) <= NAME_BYTES ? encoded(name) : hashed(name);
}

/** `~` cannot occur in a name without a hash. */
function hashed(name: string): string {
  let start = '';
  for (const character of name) {
    const next = `${start}${start === '' ? encoded(character) : encoded(`x${character}`).slice(1)}`;
    if (Buffer.byteLength(next) > NAME_BYTES - HASH_DIGITS - 1) break;
    start = next;
  }
  return `${start}~${hash('sha256', name).slice(0, HASH_DIGITS)}`;
}
