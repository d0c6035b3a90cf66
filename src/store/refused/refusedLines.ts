import { hash } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import { isoTime } from '../../base/units.ts';
import { type BodyPart, bodyParts } from '../../protocol/bodyParts.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { type Fault, Problem } from '../../protocol/errors.ts';
import type { EventRules } from '../../protocol/validate.ts';
import { type EventKey, keyOf } from '../read/storedKeys.ts';
import { keptBodies, type RefusedBody } from './refusedFile.ts';

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
 * @yields the lines of the events that are not stored, as `rejections export` writes them, in the order of receipt; of an event that
 * came several times only the last.
 */
export function* refusedLines(
  db: Database,
  { sender, rules, isStored, onDamaged }: LinesOptions,
): Generator<{ readonly id: string; readonly line: string }> {
  const lastPlaces = new Map<string, string>();
  for (const { name, place } of eventsOf(db, sender, () => {}))
    if (lastPlaces.size < REMEMBERED || lastPlaces.has(name)) lastPlaces.set(name, place);
  for (const { request, part, key, name, place } of eventsOf(db, sender, onDamaged)) {
    const isLast = (lastPlaces.get(name) ?? place) === place;
    if (isLast && !isStored(key)) yield { id: request.id, line: lineOf(request, part, rules) };
  }
}

/** @yields all events with their places, and with a short hash of their keys; of the bytes of one without a key. */
function* eventsOf(db: Database, sender: string | null, onDamaged: LinesOptions['onDamaged']) {
  for (const request of keptBodies(db, sender)) {
    if (request.body === undefined) onDamaged(request.id);
    for (const part of request.body === undefined ? [] : bodyParts(request.body)) {
      const key = keyOf(part);
      const identity = key === undefined ? part.bytes : `${key.sessionId}\n${key.eventId}\n${key.revision}`;
      const name = hash('sha256', identity, 'buffer').toString('latin1', 0, 12);
      yield { request, part, key, name, place: `${request.seq} ${part.index}` };
    }
  }
}

function lineOf({ id, at_ms }: RefusedBody, { index, bytes, isJson }: BodyPart, rules: EventRules): string {
  // Alone, an array would be a batch.
  const isEvent = !isJson || bytes[0] === OPEN_OBJECT;
  const faults = isEvent ? faultsOf(bytes, rules) : [{ path: '', message: 'must be an object' }];
  const head = JSON.stringify({ request_id: id, index, received_at: isoTime(at_ms), faults }).slice(0, -1);
  // In JSON, a line end is only between two tokens.
  const last = isJson
    ? `"event":${bytes.toString().replace(/[\r\n]/g, ' ')}`
    : `"body":"${bytes.toString('base64')}"`;
  return `${head},${last}}\n`;
}

/** @returns the faults of a body, as many as an answer lists; none if it is valid. */
function faultsOf(body: Buffer, rules: EventRules): readonly Fault[] {
  try {
    decodeBatch(body, rules);
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.members.details ?? [{ path: '', message: error.message }];
  }
}
