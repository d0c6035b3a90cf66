import { Ajv } from 'ajv';
import { LISTED_EVENTS, LISTED_FAULTS, QUOTED_CHARS } from '../base/limits.ts';
import { counted } from '../base/units.ts';
import { isName } from './courtEvent.ts';
import { readEot } from './eot.ts';
import { type Fault, type InvalidEvent, type JsonError, type LogFields, Problem } from './errors.ts';
import { EventSchema, type WireEvent } from './eventSchema.ts';
import { PAYLOAD, PAYLOAD_FIELDS, TYPES } from './eventTypes.ts';
import { NONE_ODD } from './payload.ts';
import type { SentEvent } from './sentEvent.ts';

/** Rules that this box adds to the protocol. */
export interface EventRules {
  /** The only venue_id that is accepted (`--venue`). */
  readonly venue?: string;
}

/** That the schema is valid is left to a test, because checking it here would take a seventh of the daemon's start. */
const isEnvelope = new Ajv({
  allErrors: true,
  verbose: true,
  meta: false,
  validateSchema: false,
  strictTypes: false,
}).compile<WireEvent>(EventSchema);

/** @returns nanoseconds since 1970-01-01T00:00:00Z at which a valid event happened; the faults of an invalid one. */
export function check({ sent, tooLarge, fault }: SentEvent, rules: EventRules): bigint | readonly Fault[] {
  if (fault !== undefined) return [{ path: '', message: fault.message }];
  const faults: Fault[] = isEnvelope(sent) ? [] : envelopeFaults();
  const { eot, venue_id: venue, type, payload } = (sent ?? {}) as Partial<WireEvent>;
  if (payload !== NONE_ODD)
    for (const name of PAYLOAD_FIELDS.filter((name) => Object.hasOwn(payload ?? {}, name))) {
      const isRuled = TYPES[type!]?.isTyped && TYPES[type!].fields.includes(name);
      const message = `must be a ${PAYLOAD[name].kind}, was ${quote(payload![name])}`;
      // Nothing else in a payload makes an event invalid (spec 2.2).
      if (isRuled || Math.abs(payload![name] as number) === Number.POSITIVE_INFINITY)
        faults.push({ path: `payload.${name}`, message });
    }
  const time = typeof eot === 'string' ? readEot(eot) : undefined;
  if (typeof time === 'string') faults.push({ path: 'eot', message: `${time}, was ${quote(eot)}` });
  if (rules.venue !== undefined && typeof venue === 'string' && venue !== rules.venue) {
    const message = `must be ${quote(rules.venue)}, the venue of this box, was ${quote(venue)}`;
    faults.push({ path: 'venue_id', message });
  }
  for (const name of tooLarge ?? [])
    faults.push({ path: cut(name), message: 'holds a number that a double cannot hold' });
  return typeof time === 'bigint' && faults.length === 0 ? time : faults;
}

/** An event that is not valid. */
export interface InvalidSent {
  /** Its position in the array, from 0. */
  readonly index: number;
  readonly event: SentEvent;
  readonly faults: readonly Fault[];
}

/** @param event was sent alone. @returns 400 invalid_event with its faults in `details`. */
export function explainEvent({ faults, event }: InvalidSent): Problem {
  const sentence = `The event is invalid: ${sentenceOf(faults[0])}. Nothing was stored.`;
  const total = faults.length > LISTED_FAULTS && { details_total: faults.length };
  const members = { details: faults.slice(0, LISTED_FAULTS), ...total };
  return new Problem('invalid_event', sentence, members, {}, { ...cameraOf(event), events: 1 });
}

/**
 * @param count the number of all events; undefined if it is not known. @param outside what is wrong outside of the events.
 * @returns 400 with the faults of each in `invalid`.
 */
export function explainBatch(
  all: readonly InvalidSent[],
  count: number | undefined,
  outside: JsonError | undefined,
  camera: LogFields,
): Problem {
  const total = all.length;
  const invalid: InvalidEvent[] = all.slice(0, LISTED_EVENTS).map(({ index, event, faults }) => {
    const total = faults.length > LISTED_FAULTS && { issues_total: faults.length };
    const event_id = nameIn(event, 'event_id') ?? null;
    return { index, event_id, issues: faults.slice(0, LISTED_FAULTS), ...total };
  });
  const first = invalid[0];
  const named = first?.event_id ? `${first.index} (${quote(first.event_id)})` : `${first?.index}`;
  const sentence =
    `${total} of ${counted(count ?? total, 'event')} ${total === 1 ? 'is' : 'are'} invalid, so nothing of the request was stored. ` +
    `First: event ${named}, ${sentenceOf(first?.issues[0])}.`;
  const broken = [...all.map(({ event }) => event.fault), outside].filter((one) => one !== undefined);
  const notJson = broken.find(({ code }) => code === 'invalid_json');
  return new Problem(
    notJson?.code ?? broken[0]?.code ?? 'invalid_event',
    notJson ? `The body ${notJson.message}.` : sentence,
    { invalid, invalid_total: total },
    {},
    { ...camera, ...(count && { events: count }) },
  );
}

function envelopeFaults(): Fault[] {
  const faults = isEnvelope.errors!.map(({ keyword, params, instancePath, parentSchema, data }) =>
    keyword === 'required'
      ? { path: params.missingProperty as string, message: 'is required' }
      : { path: instancePath.slice(1), message: `${parentSchema?.description}, was ${quote(data)}` },
  );
  // A fraction out of range breaks two keywords of the schema, and one rule: list it once.
  return faults.filter(({ path }, i) => path !== faults[i - 1]?.path);
}

function sentenceOf(fault: Fault | undefined): string {
  if (fault === undefined) return '';
  return fault.path === '' ? `it ${fault.message}` : `${fault.path} ${fault.message}`;
}

/** @returns an invalid value as JSON, cut to QUOTED_CHARS; objects and arrays are only described. */
function quote(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number that a double cannot hold';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return JSON.stringify(typeof value === 'string' ? cut(value) : value);
}

/** @returns source and court_id for the operator, if each is a valid name: which camera it is. */
export function cameraOf(event: SentEvent | undefined): LogFields {
  const [source, court_id] = [nameIn(event, 'source'), nameIn(event, 'court_id')];
  return { ...(source && { source }), ...(court_id && { court_id }) };
}

function nameIn(event: SentEvent | undefined, member: keyof WireEvent): string | undefined {
  const value = (event?.sent as Record<string, unknown> | null | undefined)?.[member];
  return typeof value === 'string' && isName(value) ? value : undefined;
}

function cut(text: string): string {
  return text.length <= QUOTED_CHARS ? text : `${text.slice(0, QUOTED_CHARS)}…`;
}
