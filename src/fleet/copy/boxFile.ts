import fs, { constants } from 'node:fs/promises';
import path from 'node:path';
import { boxNameFault } from '../../base/boxName.ts';
import { membersOf } from '../../base/json.ts';
import { OperatorError } from '../../base/operatorError.ts';
import type { Erasure } from '../../store/erasure/ledger.ts';
import type { Epoch } from '../../store/layout/epochs.ts';
import { isTime } from '../../store/layout/valueFault.ts';
import type { CopiedToken } from '../../store/tokens/tokens.ts';

/** `ROOT/BOX/box.json`: what of a box is not in its log. It may come from a stick that anybody had in their hands. */

export const BOX_FILE = 'box.json';
const EPOCH = /^[A-Za-z0-9]{1,64}$/;
/** Thousands of epochs and tokens. */
const BYTES_MAX = 4 * 1024 ** 2;

/** An entry of the ledger of erasures: it tells whether somebody whose id is known was erased, and not who was. */
export interface CopiedErasure {
  /** In hex, as is `player`. */
  readonly key: string;
  /** HMAC-SHA-256 of the player_id. */
  readonly player: string;
  /** In decimal digits: his events before it are erased. Nanoseconds since 1970-01-01T00:00:00Z. */
  readonly before_ns: string;
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  readonly at_ms: number;
}

export interface BoxFile {
  readonly box: string;
  /** As the settings have it; null: any. */
  readonly venue: string | null;
  /** The current one. */
  readonly epoch: string;
  readonly epochs: readonly Epoch[];
  /** Of courtd. */
  readonly version: string;
  /** Null where the shipper was not given them. */
  readonly tokens: readonly CopiedToken[] | null;
  /** Of those players the copy has no events from before. */
  readonly erasures: readonly CopiedErasure[];
}

/** It is there, and is not what courtd writes. */
export class DamagedBoxFile extends OperatorError {}

export function isEpochName(name: unknown): name is string {
  return typeof name === 'string' && EPOCH.test(name);
}

/**
 * @param folder ROOT/BOX.
 * @returns undefined where there is none.
 * @throws {DamagedBoxFile} and Node's error where it cannot be read.
 */
export async function readBoxFile(folder: string): Promise<BoxFile | undefined> {
  const file = path.join(folder, BOX_FILE);
  const text = await readText(file).catch((error) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (text === undefined) return undefined;
  const box = { erasures: [], ...membersOf(text) } as Readonly<Record<string, unknown>>;
  const wrong = Object.keys(RULES).find((member) => !RULES[member as keyof BoxFile](box[member]));
  if (wrong === undefined) return box as unknown as BoxFile;
  throw new DamagedBoxFile(
    `${file} is damaged: its "${wrong}" is not what courtd writes. Where it is moved away, a rebuild goes on without its tokens, and without what it says of who was erased.`,
  );
}

const isSeq = (seq: unknown) => Number.isSafeInteger(seq) && (seq as number) >= 0;
const isList = (list: unknown, isRight: (one: never) => boolean): list is object[] =>
  Array.isArray(list) &&
  list.every((one) => typeof one === 'object' && one !== null && isRight(one as never));
const isMs = (ms: unknown) => Number.isInteger(ms) && isTime(ms as number);
const isHex = (text: unknown, digits: number) =>
  typeof text === 'string' && text.length === digits && /^[0-9a-f]*$/.test(text);
const isInt64 = (text: unknown) =>
  typeof text === 'string' && /^-?\d{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
const areUnique = (all: readonly unknown[]) => new Set(all).size === all.length;

const RULES: Readonly<Record<keyof BoxFile, (value: unknown) => boolean>> = {
  box: (box) => typeof box === 'string' && boxNameFault(box) === undefined,
  venue: (venue) => venue === null || typeof venue === 'string',
  epoch: isEpochName,
  epochs: (epochs) =>
    isList(
      epochs,
      ({ name, fromSeq, shippedSeq = null }: Epoch) =>
        isEpochName(name) && isSeq(fromSeq) && (shippedSeq === null || isSeq(shippedSeq)),
    ) && areUnique((epochs as Epoch[]).map(({ name }) => name)),
  version: (version) => typeof version === 'string',
  tokens: (tokens) =>
    tokens === null ||
    (isList(
      tokens,
      ({ id, hash, created_ms, expires_ms, revoked_ms }: CopiedToken) =>
        isSeq(id) && isHex(hash, 64) && [created_ms, expires_ms ?? 0, revoked_ms ?? 0].every(isMs),
    ) &&
      areUnique((tokens as CopiedToken[]).map(({ id }) => id)) &&
      areUnique((tokens as CopiedToken[]).map(({ hash }) => hash))),
  erasures: (erasures) =>
    isList(
      erasures,
      ({ key, player, before_ns, at_ms }: CopiedErasure) =>
        isHex(key, 32) && isHex(player, 64) && isInt64(before_ns) && isMs(at_ms),
    ) && areUnique((erasures as CopiedErasure[]).map(({ key, player }) => `${key} ${player}`)),
};

export function copyErasure({ key, player, beforeNs, atMs }: Erasure): CopiedErasure {
  const [keyHex, playerHex] = [key, player].map((bytes) => bytes.toString('hex')) as [string, string];
  return { key: keyHex, player: playerHex, before_ns: String(beforeNs), at_ms: atMs };
}

/** @returns the entry of a ledger, finished: a copy has no others. */
export function erasureOf({ key, player, before_ns, at_ms }: CopiedErasure): Erasure {
  const [keyBytes, playerBytes] = [key, player].map((hex) => Buffer.from(hex, 'hex')) as [Buffer, Buffer];
  return {
    key: keyBytes,
    player: playerBytes,
    beforeNs: BigInt(before_ns),
    atMs: at_ms,
    finishedMs: at_ms,
  };
}

/** @returns its text; none of what is no file, such as a pipe, which would be waited for, or is too large. */
async function readText(file: string): Promise<string> {
  const handle = await fs.open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = await handle.stat();
    return stat.isFile() && stat.size <= BYTES_MAX ? await handle.readFile('utf8') : '';
  } finally {
    await handle.close();
  }
}
