import { visible } from '../../base/visibleText.ts';
import type { ArrivedEvent } from '../../store/read/arrivalReader.ts';

/** Characters of a payload that a person is shown. */
const PAYLOAD_CHARS = 120;

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
