import { JsonError } from './errors.ts';
import { ENVELOPE_FIELDS } from './eventTypes.ts';
import type { JsonReader } from './jsonReader.ts';
import { MemberNames } from './memberNames.ts';
import { readPayload } from './payload.ts';
import { UNSAFE } from './sameJson.ts';

/** An event as it was sent: parsed, and not validated yet. */
export interface SentEvent {
  /**
   * The value to validate. An object has only the members that the protocol defines, and the last of duplicate members; the
   * payload has only its odd fields. Nested values are not built: an object or an array is empty here.
   */
  readonly sent: unknown;
  /** JSON text of the payload. */
  readonly payload: string;
  /** JSON text of an object with the envelope's unknown members; null if there are none. */
  readonly extra: string | null;
  /** Members that hold a number too large for a double, in places that the schema does not see. */
  readonly tooLarge: ReadonlySet<string> | undefined;
  /** Why it is not JSON, or nested too deep. Then `sent` has the members that were read before. */
  readonly fault: JsonError | undefined;
}

const NAMES = new MemberNames(ENVELOPE_FIELDS);
const NO_MEMBERS = ENVELOPE_FIELDS.map((): unknown => undefined);
/** A number that is so short is never rounded. */
const EXACT_BYTES = 4;
const [REVISION, PAYLOAD] = [ENVELOPE_FIELDS.indexOf('revision'), ENVELOPE_FIELDS.indexOf('payload')];

/**
 * Reads an element of a body's array, or the only event of a body, and moves behind it, whatever is wrong with it. The payload and
 * unknown members are kept as the bytes that were sent, without white space between tokens, so that every digit and every escape survives.
 * @throws {JsonError} if nothing of a value is there, or the body holds too many values.
 */
export function readEvent(json: JsonReader): SentEvent {
  const from = json.at;
  const members = [...NO_MEMBERS];
  let sent: unknown;
  let [payload, extra] = ['', ''];
  let tooLarge: Set<string> | undefined;
  let error: JsonError | undefined;
  json.beginEvent();
  try {
    if (json.peek() !== '{') sent = json.read();
    else
      for (json.enter('{'); json.nextMember(); ) {
        const { nameFrom, at } = json;
        const field = json.nameIn(NAMES);
        const name = ENVELOPE_FIELDS[field] ?? json.name;
        json.isTooLarge = false;
        if (field < 0) {
          json.skip();
          extra += `${extra === '' ? '' : ','}${json.withoutSpaces(nameFrom, json.at)}`;
        } else if (field === PAYLOAD) {
          members[field] = json.peek() === '{' ? readPayload(json) : json.read();
          payload = json.withoutSpaces(at, json.at);
        } else {
          members[field] = json.read();
          if (field === REVISION && json.at - at > EXACT_BYTES)
            members[field] = unrounded(members[field], json.slice(at, json.at));
        }
        if (json.isTooLarge) tooLarge = (tooLarge ?? new Set()).add(name);
        // Of duplicate members the last counts; unknown ones are all kept.
        else if (field >= 0) tooLarge?.delete(name);
      }
  } catch (caught) {
    if (!(caught instanceof JsonError) || caught.at === from || caught.code === 'body_too_large')
      throw caught;
    error = caught;
  }
  // A literal, so that all events have one hidden class.
  if (sent === undefined)
    sent = {
      event_id: members[0],
      session_id: members[1],
      venue_id: members[2],
      court_id: members[3],
      eot: members[4],
      type: members[5],
      confidence: members[6],
      source: members[7],
      schema_version: members[8],
      revision: members[9],
      payload: members[10],
    };
  return {
    sent,
    payload,
    extra: extra === '' ? null : `{${extra}}`,
    tooLarge,
    fault: json.endEvent(from, error),
  };
}

/** @returns NaN for a number that is an integer only because a double has rounded it. */
function unrounded(value: unknown, text: string): unknown {
  return Number.isInteger(value) && text !== String(value) && UNSAFE.test(text) ? Number.NaN : value;
}

/**
 * Reads a body: an event, or an array of them.
 * @param element called at each event; it moves behind the event.
 * @returns what is wrong outside of the events.
 */
export function readBody(json: JsonReader, element: () => void): JsonError | undefined {
  try {
    json.skipSpaces();
    if (json.peek() === '[') for (json.enter('['); json.nextElement(); ) element();
    else element();
    json.skipSpaces();
    if (json.peek() === '') return undefined;
    if (json.peek() !== '{' && json.peek() !== '[') throw json.syntaxError();
    const why = `a second value follows the first at byte ${json.at}. Send one array of events, [{...}, {...}]`;
    return new JsonError('invalid_json', `is not JSON: ${why}`, json.at);
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
}
