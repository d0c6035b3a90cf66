const [MINUS, DOT, ZERO, NINE] = [0x2d, 0x2e, 0x30, 0x39];

/** @returns the offset behind a JSON number (RFC 8259, section 6), but for its exponent; `from` if there is none. */
export function endOfNumber(bytes: Buffer, from: number): number {
  const whole = bytes[from] === MINUS ? from + 1 : from;
  const point = bytes[whole] === ZERO ? whole + 1 : endOfDigits(bytes, whole);
  if (point === whole) return from;
  const end = bytes[point] === DOT ? endOfDigits(bytes, point + 1) : point;
  return end > point + 1 ? end : point;
}

function endOfDigits(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
  return at;
}
