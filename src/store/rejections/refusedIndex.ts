import { hash } from 'node:crypto';
import { bodyParts, type EventKey } from '../../protocol/bodyParts.ts';

/**
 * Events and bodies that are remembered, the newest: some 10 MB. Of older ones it is not noticed that they come again; an import
 * stores each once all the same.
 */
const REMEMBERED = 100_000;
/** Bytes of a hash that are remembered: of so many, no two are equal. */
const HASH_BYTES = 12;

/** Where an event is kept. */
export interface EventPlace {
  /** Its id. */
  readonly body: number;
  /** Its place in the body, from 0 on. */
  readonly place: number;
}

/** What tells whether a refused body, or an event in it, has come before; in the memory of whoever writes. The newest are the last. */
export class RefusedIndex {
  /** By hash: the id of the body. */
  bodies = new Map<string, number>();
  /** By what an event is known by: where it came last. */
  events = new Map<string, EventPlace>();

  get isFull(): boolean {
    return Math.max(this.bodies.size, this.events.size) >= REMEMBERED;
  }

  addBody(sha256: string, id: number): void {
    add(this.bodies, sha256, id);
  }

  addEvent(identity: string, place: EventPlace): void {
    add(this.events, identity, place);
  }

  /** For one that was filled with the newest first. */
  reverse(): void {
    this.bodies = new Map([...this.bodies].reverse());
    this.events = new Map([...this.events].reverse());
  }
}

function add<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > REMEMBERED) map.delete(map.keys().next().value!);
}

export function shortOf(sha256: Buffer): string {
  return sha256.toString('latin1', 0, HASH_BYTES);
}

/** @returns what an event with a valid key is known by. */
export function identityOf({ sessionId, eventId, revision }: EventKey): string {
  return shortOf(hash('sha256', `${sessionId}\n${eventId}\n${revision}`, 'buffer'));
}

interface Identified {
  readonly place: number;
  readonly key: EventKey | undefined;
  readonly identity: string;
}

/**
 * @param sha256 of the body.
 * @returns the events of a body, each with what it is known by: its key, or its bytes where it has none that is valid. Where the body
 * cannot be parted, it is as if it were one.
 */
export function identified(body: Buffer, sha256: Buffer): Identified[] {
  const parts = bodyParts(body);
  if (parts === undefined) return [{ place: 0, key: undefined, identity: shortOf(sha256) }];
  return parts.map(({ index, key, text }) => {
    const identity = key === undefined ? shortOf(hash('sha256', text, 'buffer')) : identityOf(key);
    return { place: index, key, identity };
  });
}
