import zlib from 'node:zlib';
import { BODY_BYTES } from '../../base/limits.ts';

/** @returns a text without the token, also in JSON's escapes and in UTF-16. @param text each character is a byte, or of a token. */
export function tokenRemoved(text: string, token: string): string {
  return text.replace(patternOf(token), '(token removed)');
}

/** @returns a body without the token; of one that came packed without saying so, what is in it. */
export function withoutToken(body: Buffer, token: string | undefined): Buffer {
  if (token === undefined) return body;
  const plain = unpacked(body, { maxOutputLength: BODY_BYTES }) ?? body;
  return Buffer.from(tokenRemoved(plain.toString('latin1'), token), 'latin1');
}

/** @param token valid, so of letters, digits, `-` and `_`. */
function patternOf(token: string): RegExp {
  const between = '\\0{0,3}';
  const chars = [...token].map((char) => {
    const escaped = ['\\\\', 'u', ...char.charCodeAt(0).toString(16).padStart(4, '0')];
    return `(?:${char}|${escaped.join(between)})`;
  });
  return new RegExp(chars.join(between), 'gi');
}

/** @returns what came as gzip, unpacked; undefined if it is damaged. */
export function unpacked(gzip: Buffer, options: zlib.ZlibOptions = {}): Buffer | undefined {
  try {
    return zlib.gunzipSync(gzip, options);
  } catch {
    return undefined;
  }
}
