import { LastText } from '../../base/lastText.ts';
import { visible } from '../../base/visibleText.ts';
import { eventToJson } from '../../protocol/event.ts';
import type { ArrivedEvent } from '../../store/read/arrivalReader.ts';
import { isoTime } from '../terminal/output.ts';

/** Characters of a payload that a person is shown. */
const PAYLOAD_CHARS = 120;

const receivedAt = new LastText((ms: number) => isoTime(ms)!);

/** One JSON object: the event is that of an NDJSON export, around it what this box knows of it. */
export function jsonLine(event: ArrivedEvent): string {
  return `{"seq":${event.seq},"received_at":"${receivedAt.text(event.receivedMs)}","event":${eventToJson(event)}}\n`;
}

/** For people: when it came, by the box's clock, and what it is. */
export function readableLine(event: ArrivedEvent): string {
  const { seq, courtId, source, type, sessionId, eventId, revision, confidence, payload } = event;
  const short = payload.length <= PAYLOAD_CHARS ? payload : `${payload.slice(0, PAYLOAD_CHARS)}…`;
  const which = revision === 0 ? eventId : `${eventId} revision ${revision}`;
  // What somebody looks for comes first: the line may be longer than the screen of a phone.
  const parts = [localTime(event.receivedMs), `#${seq}`, type, courtId, source, short, `${confidence}`];
  return `${visible([...parts, sessionId, which].join('  '))}\n`;
}

/** YYYY-MM-DD hh:mm:ss */
function localTime(ms: number): string {
  const time = new Date(ms);
  const two = (number: number) => String(number).padStart(2, '0');
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-');
  return `${date} ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':')}`;
}
