import { isoTime } from '../../base/units.ts';
import { type BodyPart, bodyParts } from '../../protocol/bodyParts.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { type Fault, Problem } from '../../protocol/errors.ts';
import type { EventRules } from '../../protocol/validate.ts';
import type { WaitingBody } from './refusedBody.ts';
import type { EventPlace } from './refusedIndex.ts';
import type { StoredLookup } from './storedLookup.ts';

interface RefusedLines {
  /** Each with its line end. */
  readonly lines: readonly string[];
  /** Where those are that are stored meanwhile. */
  readonly done: readonly EventPlace[];
}

/** @returns a line for each event of a body that waits to be mended, as `courtd rejections export` writes it. */
export function refusedLines(body: WaitingBody, rules: EventRules, stored: StoredLookup): RefusedLines {
  const { requestId, receivedMs, bytes, indexes } = body;
  const line = (index: number, faults: readonly Fault[], last: string) =>
    `{"request_id":${JSON.stringify(requestId)},"index":${index},"received_at":"${isoTime(receivedMs)}",` +
    `"faults":${JSON.stringify(faults)},${last}}\n`;
  const parts = bodyParts(bytes);
  if (parts === undefined)
    return { lines: [line(0, faultsOf(bytes, rules), `"body":"${bytes.toString('base64')}"`)], done: [] };
  const waiting = parts.filter(({ index }) => indexes.has(index));
  const isDone = ({ key }: BodyPart) => key !== undefined && stored.has(key);
  return {
    // In JSON, a line end stands only between two tokens.
    lines: waiting
      .filter((part) => !isDone(part))
      .map(({ index, text }) =>
        line(index, faultsOfPart(text, rules), `"event":${text.toString().replace(/[\r\n]/g, ' ')}`),
      ),
    done: waiting.filter(isDone).map(({ index }) => ({ body: body.id, place: index })),
  };
}

/** @returns all faults of an event; none where it is valid. */
function faultsOfPart(text: Buffer, rules: EventRules): readonly Fault[] {
  // Alone an array would be a batch.
  if (text.toString('latin1', 0, 1) !== '{') return [{ path: '', message: 'must be an object' }];
  return faultsOf(text, rules);
}

/** @returns what is wrong with a body that is refused; none where it is valid. */
function faultsOf(body: Buffer, rules: EventRules): readonly Fault[] {
  try {
    decodeBatch(body, rules, Number.POSITIVE_INFINITY);
    return [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.members.details ?? [{ path: '', message: error.message }];
  }
}
