import type { History, Sent } from './history.ts';
import type { Stored } from './storedReader.ts';

/**
 * - unmountable: ext4 itself did not survive; - stopped: courtd does not start, or does not continue;
 * - corrupt: SQLite finds the database damaged, or events are there that nobody sent;
 * - lost: an acknowledged event or token is gone, or a resend of one was stored as new;
 * - twice: an event is stored twice; - half: a part of a request is stored.
 */
export const FAULTS = ['lost', 'twice', 'half', 'corrupt', 'stopped', 'unmountable'] as const;

export interface Fault {
  readonly kind: (typeof FAULTS)[number];
  readonly what: string;
}

/**
 * Holds what is stored against what was acknowledged: all of it is there, once, as it was sent, no request in part.
 */
export function compareStored(stored: Stored, history: History, answered: readonly Sent[]): Fault[] {
  const faults: Fault[] = [];
  if (stored.integrity !== 'ok') faults.push({ kind: 'corrupt', what: stored.integrity });
  if (stored.changed.length > 0) tell(faults, 'corrupt', stored.changed, 'are not as they were sent');
  if (stored.twice.length > 0) tell(faults, 'twice', stored.twice, 'are stored twice');
  const keys = answered.flatMap(({ events }) => events.map(({ key }) => key));
  const lost = new Set(keys).difference(stored.keys);
  if (lost.size > 0) tell(faults, 'lost', [...lost], 'were acknowledged and are lost');
  const half = halves(stored.keys, history);
  if (half.length > 0) tell(faults, 'half', half, 'are stored without the rest of their request');
  return faults;
}

/** @returns the stored keys that no request brought all of whose events are stored. */
function halves(keys: ReadonlySet<string>, history: History): string[] {
  const left = new Set(keys);
  for (const { events } of history.requests) {
    if (events.every(({ key }) => keys.has(key))) for (const { key } of events) left.delete(key);
  }
  return [...left];
}

export function tell(faults: Fault[], kind: Fault['kind'], events: readonly unknown[], what: string): void {
  faults.push({ kind, what: `${events.length} events ${what}` });
}
