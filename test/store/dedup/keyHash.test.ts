import t from 'tap';
import { keyHash } from '../../../src/store/dedup/keyHash.ts';

const SECRET = Buffer.from('0001020304050607', 'hex');

/** HalfSipHash-1-3 of the bytes 0, 1, 2 … of so many, with this secret: `test_vectors_hsiphash` of Linux. */
const VECTORS = [
  [0, 0x5814c896],
  [2, 0xbc4b0e30],
  [4, 0x7e059ea6],
  [6, 0xa0080b65],
  [8, 0x577999b1],
  [10, 0xe4fa32cf],
] as const;

t.test('the hash is HalfSipHash-1-3 of the UTF-16 units', (t) => {
  const hash = keyHash(SECRET);
  for (const [length, expected] of VECTORS) {
    const bytes = Uint8Array.from({ length }, (_, i) => i);
    t.equal(hash(Buffer.from(bytes).toString('utf16le')), expected | 0, `${length} bytes`);
  }
  t.end();
});
