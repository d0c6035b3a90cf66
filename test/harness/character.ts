import fc from 'fast-check';

/** Any character. fast-check's own, the unit "binary", takes a second of processor time: it makes a map of all million of them. */
export const character: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));
