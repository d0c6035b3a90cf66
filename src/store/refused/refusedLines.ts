import Database from 'better-sqlite3';
import { isoTime } from '../../base/units.ts';
import { type BodyPart, bodyParts } from '../../protocol/bodyParts.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { type Fault, Problem } from '../../protocol/errors.ts';
import type { EventRules } from '../../protocol/validate.ts';
import { type EventKey, keyOf } from '../read/storedKeys.ts';
import { keptBodies, type RefusedBody } from './refusedFile.ts';

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
  db: Database.Database,
  { sender, rules, isStored, onDamaged }: LinesOptions,
): Generator<{ readonly id: string; readonly line: string }> {
  // A temporary file, because the lines may be larger than the memory. A line that replaces another one gets the last rowid.
  const lines = new Database('');
  lines.exec('BEGIN; CREATE TABLE line (event PRIMARY KEY, id, line)');
  const put = lines.prepare('REPLACE INTO line VALUES (?, ?, ?)');
  for (const request of keptBodies(db, sender)) {
    if (request.body === undefined) onDamaged(request.id);
    for (const part of request.body === undefined ? [] : bodyParts(request.body)) {
      const key = keyOf(part);
      if (isStored(key)) continue;
      const event = key === undefined ? part.bytes : `${key.sessionId}\n${key.eventId}\n${key.revision}`;
      put.run(event, request.id, lineOf(request, part, rules));
    }
  }
  const inOrder = lines.prepare<[], { id: string; line: string }>('SELECT id, line FROM line ORDER BY rowid');
  yield* inOrder.iterate();
  lines.close();
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
