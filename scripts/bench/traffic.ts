import { randomBytes } from 'node:crypto';

/**
 * The events of the bench: ids of 24 random hex digits, in sessions of 50,000 events on 16 courts at a time. Counters
 * instead of random ids would flatter every index. `clients/wrk.lua` fills the same wording in the same way.
 */

export const COURTS = 16;
export const SESSION_EVENTS = 50_000;
/** More than the one long session ever gets. */
export const LONG_SESSION_EVENTS = 1_000_000_000;
/** Between two events of a court. */
export const EVENT_MS = 20;
const EVENTS_PER_S = 1000 / EVENT_MS;

/** The format of a server's events, with the placeholders {id}, {session}, {court}, {eot}, {ns} and {n}. */
export interface Wording {
  readonly event: string;
  /** Before, between and after the events of a batch. */
  readonly batch: readonly [open: string, between: string, close: string];
}

/** The sample event of scripts/start.ts, `{n}` in it three digits that change. */
export const COURT_EVENTS: Wording = {
  event:
    '{"event_id":"{id}","session_id":"{session}","venue_id":"venue-1","court_id":"court-{court}","eot":"{eot}"' +
    ',"type":"BALL_BOUNCE","confidence":0.{n},"source":"court-{court}-cam-1","schema_version":"1.0","revision":0' +
    ',"payload":{"x_ft":12.{n},"y_ft":7.{n},"is_in":true}}',
  batch: ['[', ',', ']'],
};

/** Generates request bodies; every event is new. */
export class Traffic {
  readonly #parts: readonly string[];
  readonly #batch: Wording['batch'];
  readonly #run: string;
  readonly #startS = Math.floor(Date.now() / 1000);
  readonly #sent: number[];
  readonly #sessionEvents: number;
  #court = 0;

  /**
   * @param run part of the sessions' names.
   * @param before how many events of this run were sent before, so that its sessions go on.
   * @param oneSession all of it in one session of one court.
   */
  constructor(wording: Wording, run: string, before: number, oneSession = false) {
    // The parts at odd positions are the names of placeholders.
    this.#parts = wording.event.split(/\{(\w+)\}/);
    this.#batch = wording.batch;
    this.#run = run;
    const courts = oneSession ? 1 : COURTS;
    this.#sent = Array(courts).fill(Math.ceil(before / courts));
    this.#sessionEvents = oneSession ? LONG_SESSION_EVENTS : SESSION_EVENTS;
  }

  /**
   * @param events in the request; a single one is sent without the brackets of a batch.
   * @returns the body of the next request, all of it from one court.
   */
  next(events: number): string {
    const court = this.#court;
    this.#court = (court + 1) % this.#sent.length;
    const ids = randomBytes(12 * events).toString('hex');
    const [open, between, close] = events === 1 ? ['', '', ''] : this.#batch;
    let body = open;
    for (let i = 0; i < events; i++) {
      if (i > 0) body += between;
      body += this.#event(court, this.#sent[court]!++, ids.slice(i * 24, i * 24 + 24));
    }
    return body + close;
  }

  #event(court: number, n: number, id: string): string {
    const ms = (this.#startS + Math.floor(n / EVENTS_PER_S)) * 1000 + (n % EVENTS_PER_S) * EVENT_MS;
    const values: Readonly<Record<string, string | number>> = {
      id,
      session: `${this.#run}-${court + 1}-${Math.floor(n / this.#sessionEvents)}`,
      court: court + 1,
      eot: new Date(ms).toISOString(),
      ns: `${ms}000000`,
      n: 100 + (n % 900),
    };
    let text = '';
    for (let i = 0; i < this.#parts.length; i++) {
      text += i % 2 === 0 ? this.#parts[i] : values[this.#parts[i]!];
    }
    return text;
  }
}
