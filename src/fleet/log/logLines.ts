import { isUtf8 } from 'node:buffer';
import { BATCH_EVENTS, BODY_BYTES, LINE_BYTES } from '../../base/limits.ts';
import { decodeBatch } from '../../protocol/decodeBatch.ts';
import { Problem } from '../../protocol/errors.ts';
import type { CourtEvent } from '../../protocol/event.ts';
import type { LoggedEvent } from '../../store/backup/databaseOfLog.ts';
import { isTime } from '../../store/layout/valueFault.ts';
import { linesIn } from './chunk.ts';

/** Lines of `tail --json`, of a copy and of `fleet tail`, read back to what was stored. */

const [LINE_FEED] = [0x0a];
const HEAD =
  /^\{(?:"box":"([^"]*)","epoch":"([^"]*)",)?"seq":(\d{1,16}),"received_at":"([^"]*)",(?:"erased":(true),)?(?:"late":(true),)?"event":(?=\{)/;
/** As far as the names of a copy's files go. */
const SEQ_MAX = 1e15 - 1;

/** The fault of a line. */
export class LineFault extends Error {
  /** Of the lines that were given, from 0 on. */
  readonly index: number;

  constructor(index: number, message: string) {
    super(message);
    this.index = index;
  }
}

/**
 * @param lines with their line ends.
 * @returns what was stored: every byte of payloads and unknown fields.
 * @throws {LineFault}
 */
export function decodeLines(lines: readonly string[]): LoggedEvent[] {
  const decoded: LoggedEvent[] = [];
  for (let from = 0; from < lines.length; from += BATCH_EVENTS) {
    const some = lines.slice(from, from + BATCH_EVENTS);
    const heads = some.map((line, i) => parseHead(line, from + i));
    const events = decodeEvents(
      some.map((line, i) => line.slice(heads[i]!.length, line.lastIndexOf('}'))),
      from,
    );
    for (const [i, event] of events.entries()) {
      const { length: _, isErased, ...head } = heads[i]!;
      decoded.push({ ...head, event: isErased ? { ...event, erased: true } : event });
    }
  }
  return decoded;
}

function parseHead(line: string, index: number) {
  const match = HEAD.exec(line);
  if (match === null || !line.endsWith('}\n'))
    throw new LineFault(index, 'is no line of "tail --json" or "fleet tail"');
  const [head, box, epoch, number, time, erased, late] = match;
  const [seq, receivedMs] = [Number(number), Date.parse(time!)];
  if (late !== undefined) throw new LineFault(index, 'is out of the order of arrival: leave "--order" out');
  if (seq < 1 || seq > SEQ_MAX) throw new LineFault(index, `has the seq ${number}, which no event has`);
  if (!isTime(receivedMs) || new Date(receivedMs).toISOString() !== time)
    throw new LineFault(index, `has a "received_at" that is no time of courtd's: ${time}`);
  return { box, epoch, seq, receivedMs, isErased: erased !== undefined, length: head.length };
}

/** Together, or, if that fails, one by one, to find the one at fault. */
function decodeEvents(texts: readonly string[], from: number): CourtEvent[] {
  try {
    const events = decodeBatch(Buffer.from(`[${texts.join(',')}]`));
    if (events.length === texts.length) return events;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
  return texts.map((text, i) => {
    try {
      return decodeBatch(Buffer.from(text))[0]!;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      throw new LineFault(
        from + i,
        `holds no event that courtd has stored: ${error.message.replace(/\.$/, '')}`,
      );
    }
  });
}

/**
 * @param onTorn is called if the last line has no end, and is left out.
 * @yields the lines of a text that comes in pieces, with their line ends.
 * @throws {LineFault}
 */
export async function* splitLines(
  pieces: AsyncIterable<Buffer>,
  onTorn: () => void,
): AsyncGenerator<readonly string[]> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    const end = piece.lastIndexOf(LINE_FEED) + 1;
    if (end > 0) {
      const text = Buffer.concat([...parts, piece.subarray(0, end)]);
      if (!isUtf8(text)) throw new LineFault(0, 'or one of those behind it is not UTF-8');
      yield linesIn(text.toString());
      [parts, bytes] = [[], 0];
    }
    parts.push(piece.subarray(end));
    bytes += piece.length - end;
    if (bytes > LINE_BYTES)
      throw new LineFault(0, `is longer than ${BODY_BYTES} bytes: no event is so large`);
  }
  if (bytes > 0) onTorn();
}
