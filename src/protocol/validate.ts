import { Ajv, type ErrorObject } from 'ajv';
import { LISTED_EVENTS, LISTED_FAULTS, NAME_CODE_POINTS, QUOTED_CHARS } from '../base/limits.ts';
import { eotFault, eotToNs } from './eot.ts';
import { type Fault, type InvalidEvent, type LoggedOnly, Problem } from './errors.ts';
import { isName } from './event.ts';
import { EventSchema, type WireEvent } from './eventSchema.ts';
import { JsonReader } from './jsonReader.ts';
import type { SentEvent } from './sentEvent.ts';

/** What this box asks of an event beyond the protocol. */
export interface EventRules {
  /** `--venue`: the only venue_id that is accepted. */
  readonly venue?: string;
}

/** Two compilations of one schema: one stops at the first fault and is fast, the other names all of them. */
const isValidWire = new Ajv().compile<WireEvent>(EventSchema);
const findAll = new Ajv({ allErrors: true, verbose: true }).compile(EventSchema);

/** The fast check of the good path: everything but `eot`'s form. */
export function isValidEvent(event: unknown, rules: EventRules): event is WireEvent {
  return isValidWire(event) && (rules.venue === undefined || event.venue_id === rules.venue);
}

/** Every fault of an event that is not valid, with its path and a message that a camera vendor understands. */
export function explainEvent(event: SentEvent, json: JsonReader, rules: EventRules): Problem {
  const { listed, total } = faultsOf(event, json, rules);
  const sentence = wrapperOf(event) ?? `The event is invalid: ${sentenceOf(listed[0])}. Nothing was stored.`;
  const details_total = total > listed.length ? { details_total: total } : {};
  return new Problem(
    'invalid_event',
    sentence,
    { details: listed, ...details_total },
    {},
    senderOf(event.sent),
  );
}

/** An event of an array that is not valid. */
export interface InvalidSent {
  readonly index: number;
  readonly event: SentEvent;
}

/** The same of an array. @param all of its events that are not valid. @param count of all its events. */
export function explainBatch(
  all: readonly InvalidSent[],
  count: number,
  json: JsonReader,
  rules: EventRules,
): Problem {
  const total = all.length;
  const invalid: InvalidEvent[] = all.slice(0, LISTED_EVENTS).map(({ index, event }) => {
    const { listed, total } = faultsOf(event, json, rules);
    const issues_total = total > listed.length ? { issues_total: total } : {};
    return { index, event_id: eventIdOf(event.sent), issues: listed, ...issues_total };
  });
  const first = invalid[0];
  const named = first?.event_id ? `${first.index} (${quote(first.event_id)})` : `${first?.index}`;
  const sentence =
    `${total} of ${count} events ${total === 1 ? 'is' : 'are'} invalid, so nothing of the request was stored. ` +
    `First: event ${named}, ${sentenceOf(first?.issues[0])}.`;
  return new Problem(
    'invalid_event',
    sentence,
    { invalid, invalid_total: total },
    {},
    senderOf(all[0]?.event.sent),
  );
}

interface Faults {
  readonly listed: Fault[];
  readonly total: number;
}

function faultsOf({ sent, tooLarge }: SentEvent, json: JsonReader, rules: EventRules): Faults {
  const all: Fault[] = [];
  for (const error of findAll(sent) ? [] : (findAll.errors ?? []))
    all.push({ path: pathOf(error), message: messageOf(error) });
  const { eot, venue_id } = (sent ?? {}) as Record<string, unknown>;
  if (typeof eot === 'string' && eotToNs(eot) === undefined)
    all.push({ path: 'eot', message: `${eotFault(eot)}, was ${quote(eot)}` });
  if (rules.venue !== undefined && typeof venue_id === 'string' && venue_id !== rules.venue) {
    const message = `must be ${quote(rules.venue)}, the venue of this box, was ${quote(venue_id)}`;
    all.push({ path: 'venue_id', message });
  }
  let total = all.length;
  for (const numbers of tooLarge) {
    total += numbers.total;
    for (const path of numbers.paths)
      all.push({ path: json.dotted(path), message: 'must be a number that a double can hold' });
  }
  return { listed: all.slice(0, LISTED_FAULTS), total };
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
  // Who sends a number as an id need not read what a string may hold.
  const isNoString = error.keyword === 'type' && error.params.type === 'string';
  return `${isNoString ? 'must be a string' : error.parentSchema?.description}, was ${quote(error.data)}`;
}

/** A bad value as JSON, cut to a length that fits an answer. */
function quote(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number that a double cannot hold';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string' || value.length <= QUOTED_CHARS) return JSON.stringify(value);
  return `${JSON.stringify(value.slice(0, QUOTED_CHARS))}… (${codePoints(value)} characters)`;
}

/** Which camera it is, for the log: as sent, where it could be a name. */
function senderOf(event: unknown): LoggedOnly {
  const { source, court_id } = (event ?? {}) as Record<string, unknown>;
  const isSent = (name: unknown): name is string => typeof name === 'string' && isName(name);
  return { ...(isSent(source) && { source }), ...(isSent(court_id) && { court_id }) };
}

/** Without making them: there may be eight million. */
function codePoints(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count++) at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  return count;
}

/** @returns what to say of an object around the events, such as `{"events": [...]}`: it has none of an event's members. */
function wrapperOf({ sent, extra }: SentEvent): string | undefined {
  if (extra === null || Object.values(sent as object).some((value) => value !== undefined)) return undefined;
  const json = new JsonReader(extra);
  for (let more = json.enterObject(); more; more = json.nextMember()) {
    if (json.isAtArray) return WRAPPED;
    json.value();
  }
  return undefined;
}

const WRAPPED =
  'The body is an object with an array in it, not an event: send the array itself. Nothing was stored.';

function eventIdOf(event: unknown): string | null {
  const id = (event as { event_id?: unknown } | null)?.event_id;
  return typeof id === 'string' && id.length <= 2 * NAME_CODE_POINTS ? id : null;
}
