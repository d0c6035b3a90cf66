/**
 * @returns a text without the token, also in JSON's escapes or in UTF-16. @param text each character is a byte, or of a token.
 * @param token valid, so of letters, digits, `-` and `_`.
 */
export function tokenRemoved(text: string, token: string | undefined): string {
  if (token === undefined) return text;
  const between = '\\0{0,3}';
  const chars = [...token].map((char) => {
    const escaped = ['\\\\', ...`u00${char.charCodeAt(0).toString(16)}`];
    return `(?:${char}|${escaped.join(between)})`;
  });
  return text.replace(new RegExp(chars.join(between), 'gi'), '(token removed)');
}
