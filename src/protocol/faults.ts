import { Ajv, type ErrorObject } from 'ajv';
import { eotFault, eotToNs } from './eot.ts';
import { isName } from './event.ts';
import { eachInfinite } from './json.ts';
import { LISTED_EVENTS, LISTED_FAULTS, NAME_CODE_POINTS, QUOTED_CHARS } from './limits.ts';
import { type Fault, type InvalidEvent, type LoggedOnly, Problem } from './problems.ts';
import type { Checked } from './sketch.ts';
import { EventSchema, type WireEvent } from './wire.ts';

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

/**
 * The second pass, for a request with at least one fault: every fault of every event, with its path and a message
 * that a camera vendor understands.
 * @param sent one event or an array of events, as JSON.parse gives it.
 */
export function explainFaults(sent: unknown, rules: EventRules): Problem {
  const checked = (sent: unknown): Checked => ({ sent, unlisted: 0 });
  return Array.isArray(sent) ? explainBatch(sent.map(checked), rules) : explainEvent(checked(sent), rules);
}

/** The same of one event that may be large. */
export function explainEvent(event: Checked, rules: EventRules): Problem {
  const { listed, total } = faultsOf(event, rules);
  const sentence = `The event is invalid: ${sentenceOf(listed[0])}. Nothing was stored.`;
  const details_total = total > listed.length ? { details_total: total } : {};
  return new Problem(
    'invalid_event',
    sentence,
    { details: listed, ...details_total },
    {},
    senderOf(event.sent),
  );
}

/** The same of a batch whose events come one by one. */
export function explainBatch(batch: Iterable<Checked>, rules: EventRules): Problem {
  const invalid: InvalidEvent[] = [];
  let sender: LoggedOnly = {};
  let total = 0;
  let count = 0;
  for (const event of batch) {
    const index = count++;
    const faults = faultsOf(event, rules);
    if (faults.total === 0 || ++total > LISTED_EVENTS) continue;
    if (total === 1) sender = senderOf(event.sent);
    const issues_total = faults.total > faults.listed.length ? { issues_total: faults.total } : {};
    invalid.push({ index, event_id: eventIdOf(event.sent), issues: faults.listed, ...issues_total });
  }
  const first = invalid[0];
  const named = first?.event_id ? `${first.index} (${quote(first.event_id)})` : `${first?.index}`;
  const sentence =
    `${total} of ${count} events ${total === 1 ? 'is' : 'are'} invalid, so nothing of the request was stored. ` +
    `First: event ${named}, ${sentenceOf(first?.issues[0])}.`;
  return new Problem('invalid_event', sentence, { invalid, invalid_total: total }, {}, sender);
}

interface Faults {
  readonly listed: Fault[];
  readonly total: number;
}

function faultsOf({ sent: event, unlisted }: Checked, rules: EventRules): Faults {
  const listed: Fault[] = [];
  let total = 0;
  const add = (path: string, message: string) => {
    if (++total <= LISTED_FAULTS) listed.push({ path, message });
  };
  const errors = findAll(event) ? [] : (findAll.errors ?? []);
  for (const error of errors) add(pathOf(error), messageOf(error));
  const { eot, venue_id } = (event ?? {}) as Record<string, unknown>;
  if (typeof eot === 'string' && eotToNs(eot) === undefined)
    add('eot', `${eotFault(eot)}, was ${quote(eot)}`);
  if (rules.venue !== undefined && typeof venue_id === 'string' && venue_id !== rules.venue) {
    add('venue_id', `must be ${quote(rules.venue)}, the venue of this box, was ${quote(venue_id)}`);
  }
  // The schema has already named the known numbers, none of which stands deeper.
  const named = new Set(errors.map(pathOf));
  eachInfinite(event, (names) => {
    if (names.length <= NAMED_DEPTH && named.has(dotted(names))) return true;
    if (total >= LISTED_FAULTS) total++;
    else add(dotted(names), 'must be a number that a double can hold');
    return true;
  });
  return { listed, total: total + unlisted };
}

/** `payload.x_ft` */
const NAMED_DEPTH = 2;

/** Long names are cut: a body can say the same one of 100 KiB before each of 20,000 numbers. */
function dotted(names: readonly string[]): string {
  const cut = (name: string) => (name.length <= QUOTED_CHARS ? name : `${name.slice(0, QUOTED_CHARS)}…`);
  return names.map(cut).join('.');
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
  return `${error.parentSchema?.description}, was ${quote(error.data)}`;
}

/** A bad value as JSON, cut to a length that fits an answer. */
function quote(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number that a double cannot hold';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string' || value.length <= QUOTED_CHARS) return JSON.stringify(value);
  return `${JSON.stringify(value.slice(0, QUOTED_CHARS))}… (${[...value].length} characters)`;
}

/** Which camera it is, for the log: as sent, where it could be a name. */
function senderOf(event: unknown): LoggedOnly {
  const { source, court_id } = (event ?? {}) as Record<string, unknown>;
  const isSent = (name: unknown): name is string => typeof name === 'string' && isName(name);
  return { ...(isSent(source) && { source }), ...(isSent(court_id) && { court_id }) };
}

function eventIdOf(event: unknown): string | null {
  const id = (event as { event_id?: unknown } | null)?.event_id;
  return typeof id === 'string' && id.length <= 2 * NAME_CODE_POINTS ? id : null;
}
