import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/** Certificates for a test. Node makes keys and signatures but no certificates: the few bytes of DER around them are written here (RFC 5280, X.690). */

export interface PairFiles {
  readonly cert: string;
  readonly key: string;
}

const DAY_MS = 86_400_000;
const TAG = { integer: 0x02, bits: 0x03, octets: 0x04, text: 0x0c, time: 0x18, sequence: 0x30, set: 0x31 };
/** Object identifiers as they are encoded, tag and length included. */
const OID = {
  commonName: Buffer.from('0603550403', 'hex'),
  subjectAltName: Buffer.from('0603551d11', 'hex'),
  ecdsaWithSha256: Buffer.from('06082a8648ce3d040302', 'hex'),
};
const LOCALHOST = Buffer.from([127, 0, 0, 1]);

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

const sequence = (...parts: readonly Buffer[]) => der(TAG.sequence, ...parts);

/** GeneralizedTime, in whole seconds: "20260314150926Z". */
function time(ms: number): Buffer {
  return der(TAG.time, Buffer.from(new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '')));
}

/**
 * Makes a self-signed pair for 127.0.0.1, valid from a minute ago on.
 * @param name of its subject and its files, which are `NAME.crt` and `NAME.key`.
 * @param passphrase that the key is locked with; absent: none.
 */
export function makePair(folder: string, name: string, days = 3650, passphrase?: string): PairFiles {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = sequence(OID.ecdsaWithSha256);
  const subject = sequence(der(TAG.set, sequence(OID.commonName, der(TAG.text, Buffer.from(name)))));
  const now = Date.now();
  const names = sequence(OID.subjectAltName, der(TAG.octets, sequence(der(0x87, LOCALHOST))));
  const unsigned = sequence(
    der(0xa0, der(TAG.integer, Buffer.from([2]))),
    // Positive, and of no leading zero.
    der(TAG.integer, Buffer.from([0x01]), randomBytes(15)),
    algorithm,
    subject,
    sequence(time(now - 60_000), time(now + days * DAY_MS)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(names)),
  );
  const signature = der(TAG.bits, Buffer.from([0]), sign('sha256', unsigned, privateKey));
  const base64 = sequence(unsigned, algorithm, signature).toString('base64');
  const lines = base64.match(/.{1,64}/g)!.join('\n');
  const files = { cert: path.join(folder, `${name}.crt`), key: path.join(folder, `${name}.key`) };
  fs.writeFileSync(files.cert, `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`);
  const locked = passphrase === undefined ? {} : { cipher: 'aes-256-cbc', passphrase };
  const key = privateKey.export({ type: 'pkcs8', format: 'pem', ...locked });
  fs.writeFileSync(files.key, key, { mode: 0o600 });
  return files;
}
