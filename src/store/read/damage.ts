import { OperatorError } from '../../base/operatorError.ts';
import { counted } from '../../base/units.ts';
import type { Arrival } from '../../protocol/courtEvent.ts';

/** Damaged events that a message names. */
const NAMED = 100;

/** The damage that a reader has found in the database, and has left out: the user of the result must notice it. */
export class Damage {
  /** Damaged events. */
  events = 0;
  readonly #named: string[] = [];
  readonly #sentences = new Set<string>();

  /** Of an event whose row has changed since it was written (checksum.ts): all but the seq is whatever is in the row now. */
  event({ seq, ...names }: Arrival): void {
    if (++this.events > NAMED) return;
    const [session, event, revision] = [names.sessionId, names.eventId, names.revision].map(shown);
    this.#named.push(`event ${event} (revision ${revision}, seq ${seq}) of session ${session}`);
  }

  /** @param expected the events that the session counts; more than were found, or fewer. */
  miscount(session: string, expected: number, found: number): void {
    this.other(`Session ${JSON.stringify(session)} counts ${counted(expected, 'event')} and has ${found}.`);
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
    const total = this.events > 1 ? ` (${counted(this.events, 'event')})` : '';
    const leftOut = `Damaged in the database, and left out: ${this.#named.join(', ')}${total}.`;
    return [...(this.events > 0 ? [leftOut] : []), ...this.#sentences].join(' ');
  }

  /** @throws {OperatorError} if something was found. */
  assertNone(): void {
    if (!this.isFound) return;
    throw new OperatorError(`${this} Restore a backup: "sudo courtd restore FILE --salvage".`);
  }
}

/** In a damaged row it may have any type and length. */
const shown = (value: unknown) => JSON.stringify(value).slice(0, 512);
