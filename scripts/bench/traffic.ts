import { randomBytes } from 'node:crypto';

/**
 * The events of the benchmark: ids of 24 random hex digits, in sessions of 50,000 events, one session a court at a time. Counters
 * instead of random ids would flatter every index.
 */

const SESSION_EVENTS = 50_000;
/** Between two events of a court. */
const EVENT_MS = 20;

interface Values {
  readonly id: string;
  readonly session: string;
  readonly court: number;
  readonly ms: number;
  /** Three digits that change. */
  readonly n: number;
}

const court = ({ id, session, court, ms, n }: Values) =>
  `{"event_id":"${id}","session_id":"${session}","venue_id":"venue-1","court_id":"court-${court}",` +
  `"eot":"${new Date(ms).toISOString()}","type":"BALL_BOUNCE","confidence":0.${n},"source":"court-${court}-cam-1",` +
  `"schema_version":"1.0","revision":0,"payload":{"x_ft":12.${n},"y_ft":7.${n},"is_in":true}}`;

/** InfluxDB's line protocol: what one searches by are tags, the rest are fields. */
const lines = ({ id, session, court, ms, n }: Values) =>
  `event,session_id=${session},venue_id=venue-1,court_id=court-${court},type=BALL_BOUNCE event_id="${id}",confidence=0.${n},` +
  `source="court-${court}-cam-1",schema_version="1.0",revision=0i,x_ft=12.${n},y_ft=7.${n},is_in=true ${ms}000000`;

export type Format = 'json' | 'lines';

/** Makes the bodies of requests, each of one session; every event is new. */
export class Traffic {
  readonly #format: Format;
  readonly #run: string;
  readonly #startMs = Date.now();
  /** By court. */
  readonly #sent: number[];
  #court = 0;

  constructor({
    format,
    run,
    courts,
    before,
  }: { format: Format; run: string; courts: number; before: number }) {
    this.#format = format;
    this.#run = run;
    this.#sent = Array(courts).fill(Math.ceil(before / courts));
  }

  /** @returns the body of the next request; a single event is sent without the brackets of an array. */
  next(events: number): string {
    const court = this.#court;
    this.#court = (court + 1) % this.#sent.length;
    const ids = randomBytes(12 * events).toString('hex');
    const texts = Array.from({ length: events }, (_, i) =>
      this.#event(court, ids.slice(i * 24, i * 24 + 24)),
    );
    if (this.#format === 'lines') return texts.join('\n');
    return events === 1 ? texts[0]! : `[${texts.join(',')}]`;
  }

  #event(at: number, id: string): string {
    const n = this.#sent[at]!++;
    const session = `${this.#run}-${at + 1}-${Math.floor(n / SESSION_EVENTS)}`;
    const values = { id, session, court: at + 1, ms: this.#startMs + n * EVENT_MS, n: 100 + (n % 900) };
    return this.#format === 'lines' ? lines(values) : court(values);
  }
}
