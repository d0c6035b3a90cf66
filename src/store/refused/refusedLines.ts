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
const OPEN_OBJECT = 0x7b;

export interface LinesOptions {
  readonly sender: string | null;
  readonly rules: EventRules;
  readonly isStored: (key: EventKey | undefined) => boolean;
  /** Is called with the request_id of each body that cannot be unpacked: it is left out. */
  readonly onDamaged: (id: string) => void;
}

/**
 * @yields for each body the lines of its events that are not stored, as `rejections export` writes them, the oldest body first; of an
 * event that came several times only the last.
 */
export function* refusedLines(file: RefusedFile, options: LinesOptions): Generator<string[]> {
  const { rules, isStored, onDamaged } = options;
  const lastPlaces = new Map<string, string>();
  for (const { body, parts } of partedBodies(file, options)) {
    for (const part of parts) {
      const name = nameOf(part);
      if (lastPlaces.size < REMEMBERED || lastPlaces.has(name)) lastPlaces.set(name, placeOf(body, part));
    }
  }
  for (const { body, parts } of partedBodies(file, options, onDamaged)) {
    const isLast = (part: BodyPart) =>
      [placeOf(body, part), undefined].includes(lastPlaces.get(nameOf(part)));
    yield parts
      .filter((part) => isLast(part) && !isStored(keyOf(part)))
      .map((part) => lineOf(body, part, rules));
  }
}

function* partedBodies(
  file: RefusedFile,
  { sender }: LinesOptions,
  onDamaged: LinesOptions['onDamaged'] = () => {},
): Generator<{ body: RefusedBody; parts: BodyPart[] }> {
  for (const body of file.bodies(sender)) {
    const bytes = unpacked(body.gzip);
    if (bytes === undefined) onDamaged(body.id);
    else yield { body, parts: bodyParts(bytes) };
  }
}

/** @returns a short hash of its key; of its bytes, if it has none. */
function nameOf(part: BodyPart): string {
  const key = keyOf(part);
  const identity = key === undefined ? part.bytes : `${key.sessionId}\n${key.eventId}\n${key.revision}`;
  return hash('sha256', identity, 'buffer').toString('latin1', 0, 12);
}

function placeOf({ seq }: RefusedBody, { index }: BodyPart): string {
  return `${seq} ${index}`;
}

function lineOf({ id, atMs }: RefusedBody, { index, bytes, isJson }: BodyPart, rules: EventRules): string {
  // Alone, an array would be a batch.
  const isEvent = !isJson || bytes[0] === OPEN_OBJECT;
  const faults = isEvent ? faultsOf(bytes, rules) : [{ path: '', message: 'must be an object' }];
  const head = JSON.stringify({ request_id: id, index, received_at: isoTime(atMs), faults }).slice(0, -1);
  // In JSON, a line end is only between two tokens.
  const last = isJson
    ? `"event":${bytes.toString().replace(/[\r\n]/g, ' ')}`
    : `"body":"${bytes.toString('base64')}"`;
  return `${head},${last}}\n`;
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
