import { OperatorError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';

/** Damaged events that a message names. */
const NAMED = 100;

/** Of an event whose row has changed since it was written (checksum.ts): all but the seq is whatever is in the row now. */
type DamagedEvent = { readonly seq: number } & Readonly<
  Record<'sessionId' | 'eventId' | 'revision', unknown>
>;

/** The damage that a reader has found in the database, and has left out: the user of the result must notice it. */
export class Damage {
  /** Damaged events. */
  events = 0;
  readonly #named: string[] = [];
  readonly #sentences = new Set<string>();

  event({ seq, sessionId, eventId, revision }: DamagedEvent): void {
    this.events++;
    if (this.events > NAMED) return;
    const event = `event ${shown(eventId)} (revision ${shown(revision)}, seq ${seq})`;
    this.#named.push(`${event} of session ${shown(sessionId)}`);
  }

  /** @param expected the events that the session counts; more than were found, or fewer. */
  miscount(session: string, expected: number, found: number): void {
    const missing = expected - found;
    const rest = missing > 0 ? `${missing} cannot be found` : 'its count is damaged';
    const counts = `counts ${counted(expected, 'event')} and has ${found}`;
    this.other(`Session ${JSON.stringify(session)} ${counts}: ${rest}.`);
  }

  /** Something other than an event. @param sentence what, and what follows from that. */
  other(sentence: string): void {
    this.#sentences.add(sentence);
  }

  get isFound(): boolean {
    return this.events > 0 || this.#sentences.size > 0;
  }

  /** @returns what is damaged, as sentences; empty if nothing is. */
  toString(): string {
    const rest = this.events - this.#named.length;
    const named = `${this.#named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
    const total = this.events > 1 ? ` (${counted(this.events, 'event')})` : '';
    const leftOut = this.events === 0 ? [] : [`Damaged in the database, and left out: ${named}${total}.`];
    return [...leftOut, ...this.#sentences].join(' ');
  }

  /** @throws {OperatorError} if something was found. */
  assertNone(): void {
    if (!this.isFound) return;
    throw new OperatorError(`${this} Restore a backup: "sudo courtd restore FILE --salvage".`);
  }
}

/** In a damaged row it may have any type and length. */
function shown(value: unknown): string {
  if (typeof value === 'number') return `${value}`;
  return typeof value === 'string' && value.length <= 512 ? JSON.stringify(value) : '(unreadable)';
}
