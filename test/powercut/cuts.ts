import type { Random } from '../../src/vendor/simulate/random.ts';
import type { Recording } from './recording.ts';

/** Writes around a kill -9, a start or a stop that are looked at closely. */
const CLOSE = 40;

/**
 * @returns where the power is cut, in order: a third right after an answer, when least time has passed for the disk
 * to catch up; a sixth around a kill, a start or the stop; the others at any write. One is after the last.
 */
export function chooseCuts({ log, history }: Recording, count: number, random: Random): number[] {
  const end = log.entries.length;
  const answers = history.requests.map(({ answeredAt }) => answeredAt ?? 0).filter((at) => at > 0);
  const cuts = Array.from({ length: count - 1 }, () => {
    const kind = random.next();
    if (kind < 1 / 3) return random.pick(answers);
    if (kind < 1 / 2) return random.pick(history.moments) + random.integer(-CLOSE, CLOSE);
    return random.integer(0, end);
  });
  return [...cuts.map((cut) => Math.min(cut, end)), end].sort((a, b) => a - b);
}
