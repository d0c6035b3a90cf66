import { hash } from 'node:crypto';
import { isoTime } from '../../base/units.ts';
import { type BodyPart, bodyParts } from '../../protocol/bodyParts.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { type Fault, Problem } from '../../protocol/errors.ts';
import type { EventRules } from '../../protocol/validate.ts';
import { type EventKey, keyOf } from '../read/storedKeys.ts';
import type { RefusedBody, RefusedFile } from './refusedFile.ts';
import { unpacked } from './withoutToken.ts';

/** Events that are remembered, to print each only once: some 20 MB. Beyond them, an old event may be printed twice. */
const REMEMBERED = 200_000;

export interface LinesOptions {
  readonly sender: string | null;
  readonly rules: EventRules;
  readonly isStored: (key: EventKey | undefined) => boolean;
  /** Is called with the request_id of each body that cannot be unpacked: it is left out. */
  readonly onDamaged: (id: string) => void;
}

/** @yields for each body the lines of its events that are not stored, as `rejections export` writes them, the oldest body first. */
export function* refusedLines(file: RefusedFile, options: LinesOptions): Generator<string[]> {
  const { sender, rules, isStored, onDamaged } = options;
  const earlier = earlierOnes(file, sender);
  for (const body of file.bodies(1, sender)) {
    const bytes = unpacked(body.gzip);
    if (bytes === undefined) {
      onDamaged(body.id);
      continue;
    }
    yield bodyParts(bytes)
      .filter((part) => !earlier.has(placeOf(body, part)) && !isStored(keyOf(part)))
      .map((part) => lineOf(body, part, rules));
  }
}

/** @returns the places of events that came again later. */
function earlierOnes(file: RefusedFile, sender: string | null): Set<string> {
  const [seen, earlier] = [new Set<string>(), new Set<string>()];
  for (const body of file.bodies(-1, sender)) {
    const all = unpacked(body.gzip);
    for (const part of all === undefined ? [] : bodyParts(all).reverse()) {
      const key = keyOf(part);
      const identity = key === undefined ? part.bytes : `${key.sessionId}\n${key.eventId}\n${key.revision}`;
      const name = hash('sha256', identity, 'buffer').toString('latin1', 0, 12);
      if (seen.has(name)) earlier.add(placeOf(body, part));
      else if (seen.size < REMEMBERED) seen.add(name);
    }
  }
  return earlier;
}

function placeOf({ seq }: RefusedBody, { index }: BodyPart): string {
  return `${seq} ${index}`;
}

function lineOf({ id, atMs }: RefusedBody, { index, bytes, isJson }: BodyPart, rules: EventRules): string {
  const faults = isJson ? faultsOfPart(bytes, rules) : faultsOf(bytes, rules);
  const head = JSON.stringify({ request_id: id, index, received_at: isoTime(atMs), faults }).slice(0, -1);
  // In JSON, a line end is only between two tokens.
  const last = isJson
    ? `"event":${bytes.toString().replace(/[\r\n]/g, ' ')}`
    : `"body":"${bytes.toString('base64')}"`;
  return `${head},${last}}\n`;
}

/** @returns all faults of an event; none if it is valid. */
function faultsOfPart(text: Buffer, rules: EventRules): readonly Fault[] {
  // Alone, an array would be a batch.
  if (text.toString('latin1', 0, 1) !== '{') return [{ path: '', message: 'must be an object' }];
  return faultsOf(text, rules);
}

/** @returns the faults of a body; none if it is valid. */
function faultsOf(body: Buffer, rules: EventRules): readonly Fault[] {
  try {
    decodeBatch(body, rules, Number.POSITIVE_INFINITY);
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.members.details ?? [{ path: '', message: error.message }];
  }
}
