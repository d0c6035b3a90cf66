import fs, { constants } from 'node:fs/promises';
import path from 'node:path';
import { boxNameFault } from '../../base/boxName.ts';
import { membersOf } from '../../base/json.ts';
import { OperatorError } from '../../base/operatorError.ts';
import type { Epoch } from '../../store/layout/epochs.ts';
import { isTime } from '../../store/layout/valueFault.ts';
import type { CopiedToken } from '../../store/tokens/tokens.ts';

/** `ROOT/BOX/box.json`: what of a box is not in its log. It may come from a stick that anybody had in their hands. */

export const BOX_FILE = 'box.json';
const EPOCH = /^[A-Za-z0-9]{1,64}$/;
/** Thousands of epochs and tokens. */
const BYTES_MAX = 4 * 1024 ** 2;

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
  const box = membersOf(text);
  const wrong = Object.keys(RULES).find((member) => !RULES[member as keyof BoxFile](box[member]));
  if (wrong === undefined) return box as unknown as BoxFile;
  throw new DamagedBoxFile(
    `${file} is damaged: its "${wrong}" is not what courtd writes. Where it is moved away, a rebuild goes on without its tokens.`,
  );
}

const isSeq = (seq: unknown) => Number.isSafeInteger(seq) && (seq as number) >= 0;
const isList = (list: unknown, isRight: (one: never) => boolean): list is object[] =>
  Array.isArray(list) &&
  list.every((one) => typeof one === 'object' && one !== null && isRight(one as never));
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
        isSeq(id) &&
        typeof hash === 'string' &&
        /^[0-9a-f]{64}$/.test(hash) &&
        [created_ms, expires_ms ?? 0, revoked_ms ?? 0].every(isTime),
    ) &&
      areUnique((tokens as CopiedToken[]).map(({ id }) => id)) &&
      areUnique((tokens as CopiedToken[]).map(({ hash }) => hash))),
};

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
