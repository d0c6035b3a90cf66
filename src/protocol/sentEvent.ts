import { ENVELOPE_FIELDS } from './eventTypes.ts';
import { JsonError, type JsonReader } from './jsonReader.ts';
import { readPayload } from './payload.ts';

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
  readonly tooLarge: ReadonlySet<string>;
}

const ENVELOPE_NAMES = new Map<string, number>(ENVELOPE_FIELDS.map((name, i) => [name, i]));
const REVISION = ENVELOPE_FIELDS.indexOf('revision');
const PAYLOAD = ENVELOPE_FIELDS.indexOf('payload');
const NONE: ReadonlySet<string> = new Set();
/** The values of the event being read. Reused, since one is read at a time. */
const EVENT_VALUES = ENVELOPE_FIELDS.map((): unknown => undefined);

/**
 * Reads an event and moves behind it. The payload and unknown members are kept as the bytes that were sent, without white space
 * between tokens, so that every digit and every escape survives.
 * @throws {JsonError}
 */
function readEvent(json: JsonReader): SentEvent {
  const values = EVENT_VALUES.fill(undefined);
  if (!json.isAtObject) return { sent: json.read(), payload: '{}', extra: null, tooLarge: NONE };
  let tooLarge: Set<string> | undefined;
  let [payloadFrom, payloadTo] = [0, 0];
  const unknownAt: number[] = [];
  json.object(() => {
    const { name, nameFrom, at } = json;
    const field = ENVELOPE_NAMES.get(name) ?? -1;
    json.isTooLarge = false;
    if (field < 0) {
      json.skip();
      unknownAt.push(nameFrom, json.at);
    } else if (field === PAYLOAD) {
      values[field] = json.isAtObject ? readPayload(json) : json.read();
      [payloadFrom, payloadTo] = [at, json.at];
    } else {
      values[field] = field === REVISION ? json.readInteger() : json.read();
    }
    if (json.isTooLarge) {
      tooLarge ??= new Set();
      tooLarge.add(name);
    } else if (field >= 0) {
      // Of duplicate members the last counts; unknown ones are all kept.
      tooLarge?.delete(name);
    }
  });
  return {
    // A literal, so that all events have one hidden class: with an object that grows, V8 is three times slower.
    sent: {
      event_id: values[0],
      session_id: values[1],
      venue_id: values[2],
      court_id: values[3],
      eot: values[4],
      type: values[5],
      confidence: values[6],
      source: values[7],
      schema_version: values[8],
      revision: values[9],
      payload: values[PAYLOAD],
    },
    payload: json.withoutSpaces([payloadFrom, payloadTo]),
    extra: unknownAt.length === 0 ? null : `{${json.withoutSpaces(unknownAt)}}`,
    tooLarge: tooLarge ?? NONE,
  };
}

/**
 * Reads an element of a body's array and moves behind it, whatever is wrong with it.
 * @returns the event; if it is not JSON, or nested too deep, the error, and the members that were read before it.
 * @throws {JsonError} if the body holds too many values.
 */
export function readElement(json: JsonReader): { event: SentEvent; error?: JsonError } {
  const from = json.at;
  try {
    return { event: readEvent(json) };
  } catch (error) {
    if (!(error instanceof JsonError) || error.reason === 'values') throw error;
    json.skipBroken(from);
    const sent = Object.fromEntries(ENVELOPE_FIELDS.map((name, i) => [name, EVENT_VALUES[i]]));
    return { event: { sent, payload: '{}', extra: null, tooLarge: NONE }, error };
  }
}
