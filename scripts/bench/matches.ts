import { randomBytes } from 'node:crypto';
import { BATCH_EVENTS } from '../../src/base/limits.ts';
import type { CourtEvent } from '../../src/protocol/event.ts';
import type { EventType } from '../../src/protocol/eventTypes.ts';

/**
 * Events shaped like those of real matches: their types in the shares that were counted in 44 of them, half of the hits
 * and bounces first with revision 0 and 0.6 s later again with revision 1, ids of 24 random hex digits.
 */

/** Types out of a hundred events; the few identities come at the start of a match. */
const SHARES: readonly (readonly [type: EventType, share: number])[] = [
  ['BALL_BOUNCE', 3],
  ['BALL_HIT', 41],
  ['BALL_SPEED', 16],
  ['PLAYER_POSITION', 40],
];
const SOURCES: Readonly<Record<EventType, string>> = {
  BALL_BOUNCE: 'cam-1',
  BALL_HIT: 'cam-1',
  BALL_SPEED: 'radar',
  PLAYER_POSITION: 'cam-2',
  PLAYER_IDENTITY: 'cam-id',
};
const TYPES = SHARES.flatMap(([type, share]) => Array<EventType>(share).fill(type));
const PLAYERS = ['p-kento-momota', 'p-viktor-axelsen'];
const SHOTS = ['short_service', 'net_shot', 'lob', 'smash', 'clear', 'drop', 'unknown'];
const START_MS = Date.UTC(2026, 2, 14, 9);
const EVENT_MS = 400;
/** How many more hits and bounces follow one before its second revision is sent. */
const REVISED_AFTER = 2;

/** One court's match. */
class Match {
  readonly #session: string;
  readonly #court: string;
  readonly #awaited: CourtEvent[] = [];
  #count = 0;

  constructor(session: string, court: number) {
    this.#session = session;
    this.#court = `court-${court}`;
  }

  next(): CourtEvent {
    const n = this.#count++;
    const first = this.#awaited[0];
    if (first !== undefined && this.#awaited.length > REVISED_AFTER) {
      this.#awaited.shift();
      return { ...first, confidence: thousandths(0.9, 0.1), revision: 1 };
    }
    const type = n < PLAYERS.length ? 'PLAYER_IDENTITY' : TYPES[Math.floor(Math.random() * TYPES.length)]!;
    const event = this.#event(n, type);
    if (type === 'BALL_HIT' || type === 'BALL_BOUNCE') this.#awaited.push(event);
    return event;
  }

  #event(n: number, type: EventType): CourtEvent {
    const eotMs = START_MS + n * EVENT_MS;
    return {
      eventId: randomBytes(12).toString('hex'),
      sessionId: this.#session,
      venueId: 'venue-tp-01',
      courtId: this.#court,
      eot: new Date(eotMs).toISOString(),
      eotNs: BigInt(eotMs) * 1_000_000n,
      type,
      confidence: thousandths(0.5, 0.5),
      source: `${this.#court}-${SOURCES[type]}`,
      schemaVersion: '1.0',
      revision: 0,
      payload: JSON.stringify(payload(n, type)),
      extra: null,
    };
  }
}

/** @yields requests' events, from one match after the other in turn, until there are `count` of them. */
export function* matches(name: string, count: number, sessions: number): Generator<CourtEvent[]> {
  const courts = Array.from(
    { length: sessions },
    (_, i) => new Match(sessions === 1 ? name : `${name}-${i + 1}`, i + 1),
  );
  let left = count;
  for (let turn = 0; left > 0; turn++) {
    const match = courts[turn % sessions]!;
    const events = Array.from({ length: Math.min(BATCH_EVENTS, left) }, () => match.next());
    left -= events.length;
    yield events;
  }
}

function payload(n: number, type: EventType): object {
  const player_id = PLAYERS[n % PLAYERS.length];
  const [x_ft, y_ft] = [hundredths(20), hundredths(22)];
  switch (type) {
    case 'BALL_BOUNCE':
      return { x_ft, y_ft, is_in: n % 3 > 0 };
    case 'BALL_HIT':
      return {
        player_id,
        shot_type: SHOTS[n % SHOTS.length],
        ...(n % 8 === 0 ? { swing_type: 'backhand' } : {}),
      };
    case 'BALL_SPEED':
      return { kmh: Math.round(Math.random() * 2000) / 10 };
    case 'PLAYER_POSITION':
      return { player_id, x_ft, y_ft };
    case 'PLAYER_IDENTITY':
      return { player_id };
  }
}

function hundredths(most: number): number {
  return Math.round(Math.random() * most * 100) / 100;
}

function thousandths(least: number, range: number): number {
  return Math.round((least + Math.random() * range) * 1000) / 1000;
}
