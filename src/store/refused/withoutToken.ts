import zlib from 'node:zlib';
import { BODY_BYTES } from '../../base/limits.ts';

/** Printed in the place of a token. */
export const REMOVED = '(token removed)';

/** @returns a copy of a body without the token, also in JSON's escapes and in UTF-16; undefined if it cannot be taken out. */
export function withoutToken(body: Buffer, token: string | undefined): Buffer | undefined {
  if (token === undefined) return Buffer.from(body);
  const pattern = patternOf(token);
  if (body[0] === 0x1f && body[1] === 0x8b)
    return pattern.test(unpacked(body, { maxOutputLength: BODY_BYTES })?.toString('latin1') ?? '')
      ? undefined
      : Buffer.from(body);
  const text = body.toString('latin1');
  return pattern.test(text) ? Buffer.from(text.replace(pattern, REMOVED), 'latin1') : Buffer.from(body);
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
