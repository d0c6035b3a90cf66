import { Ajv, type ErrorObject } from 'ajv';
import { LISTED_EVENTS, LISTED_FAULTS, NAME_CODE_POINTS, QUOTED_CHARS } from '../base/limits.ts';
import { counted } from '../base/units.ts';
import { isName, NAME_PATTERN } from './courtEvent.ts';
import { eotFault, eotToNs } from './eot.ts';
import { type Fault, type InvalidEvent, type LogFields, Problem } from './errors.ts';
import { EventSchema, type WireEvent } from './eventSchema.ts';
import { NONE_ODD } from './payload.ts';
import type { SentEvent } from './sentEvent.ts';

/** Rules that this box adds to the protocol. */
export interface EventRules {
  /** The only venue_id that is accepted (`--venue`). */
  readonly venue?: string;
}

/**
 * The same schema compiled twice: one validator is fast and stops at the first fault, the other finds all faults. The fast one
 * leaves the fields of the payload to `readPayload`, which has seen them. That the schema is valid is left to a test, because checking it
 * here would take a seventh of the daemon's start.
 */
const OPTIONS = { meta: false, validateSchema: false, strictTypes: false };
const isValidEnvelope = new Ajv(OPTIONS).compile<WireEvent>({
  type: 'object',
  required: EventSchema.required!,
  properties: EventSchema.properties,
});
const findFaults = new Ajv({ ...OPTIONS, allErrors: true, verbose: true }).compile(EventSchema);

/** The fast check for the valid case. @returns whether an event is valid, but for the format of its `eot` (`eotToNs`). */
export function isValidEvent(event: unknown, rules: EventRules): event is WireEvent {
  if (!isValidEnvelope(event) || (rules.venue !== undefined && event.venue_id !== rules.venue)) return false;
  return event.payload === NONE_ODD || findFaults(event);
}

/**
 * @param event not valid, and sent alone.
 * @returns 400 invalid_event with its faults in `details`.
 */
export function explainEvent(event: SentEvent, rules: EventRules, listedMax = LISTED_FAULTS): Problem {
  const all = faultsOf(event, rules);
  const sentence = `The event is invalid: ${sentenceOf(all[0])}. Nothing was stored.`;
  const total = all.length > listedMax && { details_total: all.length };
  const members = { details: all.slice(0, listedMax), ...total };
  return new Problem('invalid_event', sentence, members, {}, { ...cameraOf(event.sent), events: 1 });
}

/** Why a body, or an element of its array, could not be read. */
export interface Broken {
  readonly code: 'invalid_json' | 'too_deep';
  /** The end of a sentence that starts with "The body" or "The event". */
  readonly message: string;
}

export interface InvalidSent {
  /** Its position in the array, from 0. */
  readonly index: number;
  readonly event: SentEvent;
  /** If it could not be read as a whole; its other faults are not known then. */
  readonly broken: Broken | undefined;
}

/**
 * @param count the number of all events; undefined if it is not known. @param outside what is broken outside of the events.
 * @returns 400 with the faults of each in `invalid`.
 */
export function explainBatch(
  all: readonly InvalidSent[],
  count: number | undefined,
  firstSent: unknown,
  rules: EventRules,
  outside: Broken | undefined,
): Problem {
  const total = all.length;
  const invalid: InvalidEvent[] = all.slice(0, LISTED_EVENTS).map(({ index, event, broken }) => {
    const faults = broken ? [{ path: '', message: broken.message }] : faultsOf(event, rules);
    const total = faults.length > LISTED_FAULTS && { issues_total: faults.length };
    return { index, event_id: eventIdOf(event.sent), issues: faults.slice(0, LISTED_FAULTS), ...total };
  });
  const first = invalid[0];
  const named = first?.event_id ? `${first.index} (${quote(first.event_id)})` : `${first?.index}`;
  const sentence =
    `${total} of ${counted(count ?? total, 'event')} ${total === 1 ? 'is' : 'are'} invalid, so nothing of the request was stored. ` +
    `First: event ${named}, ${sentenceOf(first?.issues[0])}.`;
  const broken = [...all.map(({ broken }) => broken), outside].filter((one) => one !== undefined);
  const notJson = broken.find(({ code }) => code === 'invalid_json');
  const cameras = [...all.map(({ event }) => event.sent), firstSent].map(cameraOf);
  const camera = cameras.find(({ source }) => source !== undefined);
  return new Problem(
    notJson?.code ?? broken[0]?.code ?? 'invalid_event',
    notJson ? `The body ${notJson.message}` : sentence,
    { invalid, invalid_total: total },
    {},
    { ...camera, ...(count && { events: count }) },
  );
}

function faultsOf({ sent, tooLarge }: SentEvent, rules: EventRules): Fault[] {
  const all: Fault[] = [];
  for (const error of findFaults(sent) ? [] : (findFaults.errors ?? [])) {
    // The faults of `then` and `else` are in the list themselves.
    if (error.keyword === 'if') continue;
    const fault = { path: pathOf(error), message: messageOf(error) };
    const last = all.at(-1);
    // A fraction out of range breaks two keywords of the schema, and one rule: list it once.
    if (fault.path !== last?.path || fault.message !== last.message) all.push(fault);
  }
  const { eot, venue_id } = (sent ?? {}) as Record<string, unknown>;
  if (typeof eot === 'string' && eotToNs(eot) === undefined)
    all.push({ path: 'eot', message: `${eotFault(eot)}, was ${quote(eot)}` });
  if (rules.venue !== undefined && typeof venue_id === 'string' && venue_id !== rules.venue) {
    const message = `must be ${quote(rules.venue)}, the venue of this box, was ${quote(venue_id)}`;
    all.push({ path: 'venue_id', message });
  }
  for (const name of tooLarge)
    all.push({ path: cut(name), message: 'holds a number that a double cannot hold' });
  return all;
}

function sentenceOf(fault: Fault | undefined): string {
  if (fault === undefined) return '';
  return fault.path === '' ? `it ${fault.message}` : `${fault.path} ${fault.message}`;
}

function pathOf(error: ErrorObject): string {
  const parent = error.instancePath.slice(1).replaceAll('/', '.');
  if (error.keyword !== 'required') return parent;
  const missing = String(error.params.missingProperty);
  return parent === '' ? missing : `${parent}.${missing}`;
}

function messageOf(error: ErrorObject): string {
  if (error.keyword === 'required') return 'is required';
  const { description, pattern } = error.parentSchema ?? {};
  // For a number sent as an id, the full rule for strings would only distract.
  const isNameOfOtherType = error.keyword === 'type' && pattern === NAME_PATTERN;
  return `${isNameOfOtherType ? 'must be a string' : description}, was ${quote(error.data)}`;
}

/** @returns an invalid value as JSON, cut to QUOTED_CHARS; objects and arrays are only described. */
function quote(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number that a double cannot hold';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return JSON.stringify(typeof value === 'string' ? cut(value) : value);
}

/** @returns source and court_id for the operator, if each is a valid name: which camera it is. */
export function cameraOf(event: unknown): LogFields {
  const { source, court_id } = (event ?? {}) as Record<string, unknown>;
  const isValid = (name: unknown): name is string => typeof name === 'string' && isName(name);
  return { ...(isValid(source) && { source }), ...(isValid(court_id) && { court_id }) };
}

function cut(text: string): string {
  return text.length <= QUOTED_CHARS ? text : `${text.slice(0, QUOTED_CHARS)}…`;
}

function eventIdOf(event: unknown): string | null {
  const id = (event as { event_id?: unknown } | null)?.event_id;
  return typeof id === 'string' && id.length <= 2 * NAME_CODE_POINTS ? id : null;
}
