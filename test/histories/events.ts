import { isDeepStrictEqual } from 'node:util';
import { type Arrival, type CourtEvent, eventToJson } from '../../src/protocol/courtEvent.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import type { Random } from '../../src/vendor/simulate/random.ts';
import { event as valid } from '../harness/events.ts';
import type { Sent } from './known.ts';

/** Who plays. */
export const PLAYERS = ['player-1', 'player-2', 'player-3'] as const;

/** A request as it goes to the store. */
export interface Body {
  readonly events: readonly CourtEvent[];
  readonly sent: readonly Sent[];
}

/** @returns what an event is known by, as it is stored. */
export function sentOf(event: Omit<CourtEvent, 'eotNs'> | Arrival): Sent {
  const family = `${event.sessionId}/${event.eventId}`;
  const { eot, revision } = event;
  return { key: `${family}/${revision}`, family, revision, eotMs: Date.parse(eot), text: eventToJson(event) };
}

/** @returns a body of these events, decoded. @throws where an event is not kept as it was sent. */
function bodyOf(wires: readonly Record<string, unknown>[]): Body {
  const events = decodeBatch(Buffer.from(JSON.stringify(wires)));
  const sent = events.map(sentOf);
  for (const [i, { text }] of sent.entries()) {
    if (!isDeepStrictEqual(JSON.parse(text), { revision: 0, ...wires[i]! }))
      throw new Error(`${text} is not ${JSON.stringify(wires[i])}`);
  }
  return { events, sent };
}

/** Thinks of what cameras send: few sessions and ids, so that keys meet. */
export class Cameras {
  readonly #bodies: Record<string, unknown>[][] = [];
  #made = 0;

  /** New events, and now and then one that was sent before, in another spelling or with other content. */
  fresh(random: Random, eotMs: number): Body {
    const count = random.pick([1, 1, 2, 3, 5, 9]);
    const wires = Array.from({ length: count }, () => this.#event(random, eotMs));
    if (random.chance(0.15) && this.#bodies.length > 0) wires.push(...random.pick(this.#bodies).slice(0, 3));
    if (random.chance(0.1) && wires.length > 1) wires.push(wires[0]!);
    return this.#keep(wires);
  }

  /** A request that was sent before; once in a while with another content. */
  again(random: Random, eotMs: number): Body {
    if (this.#bodies.length === 0) return this.fresh(random, eotMs);
    const wires = random.pick(this.#bodies);
    const repeated = random.chance(0.3) ? [...wires, wires[0]!] : wires;
    const isConflict = random.chance(0.25);
    return this.#keep(isConflict ? repeated.map((wire) => ({ ...wire, confidence: 0.5 })) : repeated);
  }

  /** Other revisions of what was sent. */
  revised(random: Random, eotMs: number): Body {
    if (this.#bodies.length === 0) return this.fresh(random, eotMs);
    const revision = random.pick([1, 2, 3, 2 ** 32 + 1]);
    return this.#keep(
      random
        .pick(this.#bodies)
        .slice(0, 3)
        .map((wire) => ({ ...wire, revision, confidence: 0.75 })),
    );
  }

  #event(random: Random, eotMs: number): Record<string, unknown> {
    const n = this.#made++;
    return valid({
      event_id: `event-${n}`,
      session_id: `session-${random.integer(1, 2)}`,
      court_id: `court-${random.integer(1, 3)}`,
      eot: new Date(eotMs - random.integer(0, 5000)).toISOString(),
      type: random.pick(['BALL_BOUNCE', 'PLAYER_POSITION']),
      source: `camera-${random.integer(1, 3)}`,
      payload: {
        x_ft: n,
        note: random.chance(0.05) ? 'x'.repeat(random.integer(1, 9000)) : 'x',
        ...(random.chance(0.6) && { player_id: random.pick(PLAYERS) }),
      },
    }) as unknown as Record<string, unknown>;
  }

  #keep(wires: Record<string, unknown>[]): Body {
    this.#bodies.push(wires);
    return bodyOf(wires);
  }
}
