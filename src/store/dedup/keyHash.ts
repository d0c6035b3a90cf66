import Database from 'better-sqlite3';

/** Length of the secret of a database (schema.ts). */
export const SECRET_BYTES = 8;

/** @returns the hash of an event_id, a signed 32-bit integer. */
export type KeyHash = (eventId: string) => number;

/**
 * HalfSipHash-1-3, the 32-bit sibling of SipHash (Aumasson and Bernstein, 2012), which Linux uses for its
 * hash tables as `hsiphash`. The input is the UTF-16 code units of an event_id, two to a word. It is keyed
 * because a client that could choose event_ids with equal hashes would make each further one be compared with
 * all of them.
 * @param secret SECRET_BYTES bytes.
 */
export function keyHash(secret: Buffer): KeyHash {
  const [k0, k1] = [secret.readInt32LE(0), secret.readInt32LE(4)];
  return (eventId) => {
    const units = eventId.length;
    const last = units >>> 1;
    let v0 = k0;
    let v1 = k1;
    let v2 = k0 ^ 0x6c796765;
    let v3 = k1 ^ 0x74656462;
    // One round for each word, the last of which carries the length, then three to finalise.
    for (let i = 0; i < last + 4; i++) {
      let word = 0;
      if (i < last) word = eventId.charCodeAt(2 * i) | (eventId.charCodeAt(2 * i + 1) << 16);
      else if (i === last) word = (units << 25) | (units & 1 ? eventId.charCodeAt(units - 1) : 0);
      else if (i === last + 1) v2 ^= 0xff;
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    return v1 ^ v3;
  };
}

/**
 * @returns the hash function of this database, with its own secret.
 * @throws {SqliteError} SQLITE_CORRUPT where the row of `flushed` is missing or holds no secret.
 */
export function readKeyHash(db: Database.Database): KeyHash {
  const secret = db.prepare<[], Buffer>('SELECT secret FROM flushed').pluck().get();
  if (!Buffer.isBuffer(secret) || secret.length !== SECRET_BYTES)
    throw new Database.SqliteError('the secret of the key hash is missing', 'SQLITE_CORRUPT');
  return keyHash(secret);
}
