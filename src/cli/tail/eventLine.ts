import { visible } from '../../base/visibleText.ts';
import type { Arrival } from '../../protocol/event.ts';

/** Characters of a payload that a person is shown. */
const PAYLOAD_CHARS = 120;

/** For people: when it came, by the box's clock, and what it is. */
export function readableLine(event: Arrival): string {
  const { seq, courtId, source, type, sessionId, eventId, revision, confidence, payload } = event;
  const short = payload.length <= PAYLOAD_CHARS ? payload : `${payload.slice(0, PAYLOAD_CHARS)}…`;
  const which = revision === 0 ? eventId : `${eventId} revision ${revision}`;
  // What somebody looks for comes first: the line may be longer than the screen of a phone.
  const parts = [localTime(event.receivedMs), `#${seq}`, type, courtId, source, short, `${confidence}`];
  return `${visible([...parts, sessionId, which].join('  '))}\n`;
}

/** YYYY-MM-DD hh:mm:ss, as Swedes write local time. */
const { format: localTime } = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' });
