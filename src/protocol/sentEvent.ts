import { ENVELOPE_FIELDS, PAYLOAD_FIELDS } from './event.ts';
import type { JsonReader, TooLarge } from './jsonReader.ts';
import { MemberNames } from './memberNames.ts';

/** An event as it was sent: read, and not checked yet. */
export interface SentEvent {
  /**
   * What the schema is asked about. Of an object the members that the protocol names, of duplicates the last; what stands
   * in those is not looked at: an object is empty here, and an array is only as long as it was.
   */
  readonly sent: unknown;
  /** JSON text of the payload. */
  readonly payload: string;
  /** JSON text of an object of the envelope's unknown members; null where there are none. */
  readonly extra: string | null;
  /** Numbers too large for a double, where the schema does not see them. */
  readonly tooLarge: readonly TooLarge[];
}

const ENVELOPE_NAMES = new MemberNames(ENVELOPE_FIELDS);
const PAYLOAD_NAMES = new MemberNames(PAYLOAD_FIELDS);
const PAYLOAD = ENVELOPE_FIELDS.indexOf('payload');
const UNKNOWN = ENVELOPE_FIELDS.length;

/**
 * Steps over an event. The payload and unknown members are kept as the bytes that came, without the white space (design 2).
 * @throws {JsonError}
 */
export function readEvent(json: JsonReader): SentEvent {
  json.tooLarge = undefined;
  if (!json.isAtObject) {
    const sent = json.read();
    return { sent, payload: '{}', extra: null, tooLarge: present([json.tooLarge]) };
  }
  const values = new Array<unknown>(ENVELOPE_FIELDS.length).fill(undefined);
  // One place for each known member, where a later one takes the place of an earlier one, and one for all the others.
  let tooLarge: (TooLarge | undefined)[] | undefined;
  let payloadAt = [0, 0];
  const unknownAt: number[] = [];
  json.forgetSpace();
  for (let more = json.enterObject(); more; more = json.nextMember()) {
    const { nameFrom, at } = json;
    const field = json.nameIn(ENVELOPE_NAMES);
    json.tooLarge = field < 0 ? tooLarge?.[UNKNOWN] : undefined;
    if (field < 0) {
      json.value();
      unknownAt.push(nameFrom, json.at);
    } else if (field === PAYLOAD) {
      values[field] = json.isAtObject ? readPayload(json) : json.read();
      payloadAt = [at, json.at];
    } else {
      values[field] = json.read();
    }
    if (json.tooLarge !== undefined || tooLarge !== undefined) {
      tooLarge ??= [];
      tooLarge[field < 0 ? UNKNOWN : field] = json.tooLarge;
    }
  }
  return {
    // One shape for all events: V8 is three times slower with an object that grows.
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
    payload: json.bare(payloadAt),
    extra: unknownAt.length === 0 ? null : `{${json.bare(unknownAt)}}`,
    tooLarge: tooLarge === undefined ? NONE : present(tooLarge),
  };
}

const NONE: readonly TooLarge[] = [];

function present(tooLarge: readonly (TooLarge | undefined)[]): TooLarge[] {
  return tooLarge.filter((numbers) => numbers !== undefined);
}

type PayloadValues = { readonly [name in (typeof PAYLOAD_FIELDS)[number]]: unknown };

/** Steps over an object. @returns its members that the protocol names, as `JsonReader.read` gives them. */
export function readPayload(json: JsonReader): PayloadValues {
  const values = new Array<unknown>(PAYLOAD_FIELDS.length).fill(undefined);
  for (let more = json.enterObject(); more; more = json.nextMember()) {
    const field = json.nameIn(PAYLOAD_NAMES);
    if (field < 0) json.value();
    else values[field] = json.read();
  }
  return {
    x_ft: values[0],
    y_ft: values[1],
    is_in: values[2],
    kmh: values[3],
    player_id: values[4],
    shot_type: values[5],
    swing_type: values[6],
  };
}
