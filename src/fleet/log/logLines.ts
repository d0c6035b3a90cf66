import { isUtf8 } from 'node:buffer';
import { BATCH_EVENTS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { type Line, splitLines } from '../../base/splitLines.ts';
import { isTime } from '../../base/units.ts';
import type { CourtEvent } from '../../protocol/courtEvent.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { Problem } from '../../protocol/errors.ts';
import type { RestoreSource } from '../../store/keep/backupFile.ts';
import { databaseOfLog, type LoggedEvent } from '../../store/keep/databaseOfLog.ts';

/** Lines of `tail --json` and of `fleet tail`, read back to what was stored. */

/** A late line of `tail --order eot` is none: it is out of the order of arrival. */
const HEAD =
  /^\{(?:"box":"([^"]*)","epoch":"([^"]*)",)?"seq":(\d{1,16}),"received_at":"([^"]*)",(?:"erased":(true),)?"event":(?=\{)/;
/** As far as the headers at headquarters go. */
const SEQ_MAX = 1e15 - 1;

/** @returns what a database is restored from. Restoring it throws an OperatorError for a line that courtd has not written. */
export function logLines(pieces: AsyncIterable<Buffer>): RestoreSource {
  return { name: 'the lines', copyTo: (target) => databaseOfLog(target, loggedEvents(pieces)) };
}

/**
 * @yields what was stored, at most BATCH_EVENTS at once: every byte of payloads and unknown fields.
 * @throws {OperatorError} names the first line that is none of courtd's, or was cut off.
 */
async function* loggedEvents(pieces: AsyncIterable<Buffer>): AsyncGenerator<LoggedEvent[]> {
  let events: LoggedEvent[] = [];
  for await (const line of splitLines(pieces)) {
    if (!line.hasEnd) throw fault(line.number, 'has no end: the lines were cut off');
    events.push(decodeLine(line));
    if (events.length < BATCH_EVENTS) continue;
    yield events;
    events = [];
  }
  yield events;
}

function fault(number: number, what: string): OperatorError {
  return new OperatorError(
    `Line ${number} ${what}. Give all lines as "courtd fleet tail" or "courtd tail --json" prints them.`,
  );
}

function decodeLine({ bytes, number }: Line): LoggedEvent {
  const text = bytes.toString();
  const match = isUtf8(bytes) && text.endsWith('}') && HEAD.exec(text);
  if (!match) throw fault(number, 'is not an event');
  const [head, box, epoch, given, time, erased] = match;
  const [seq, receivedMs] = [Number(given), Date.parse(time!)];
  if (seq < 1 || seq > SEQ_MAX) throw fault(number, `has the seq ${given}, which no event has`);
  if (!isTime(receivedMs) || new Date(receivedMs).toISOString() !== time)
    throw fault(number, `has a "received_at" that is no time of courtd's: ${time}`);
  const event = decodeEvent(number, text.slice(head.length, -1));
  return { box, epoch, seq, receivedMs, event: erased === undefined ? event : { ...event, erased: true } };
}

function decodeEvent(number: number, text: string): CourtEvent {
  try {
    return decodeBatch(Buffer.from(text))[0]!;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw fault(number, `holds no event that courtd has stored: ${error.message.replace(/\.$/, '')}`);
  }
}
