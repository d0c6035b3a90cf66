import type { Logger } from 'pino';
import { every } from '../base/pause.ts';
import { logProblem } from './finding.ts';
import { problem } from './problems.ts';
import type { StoreFacts } from './storeFacts.ts';

const LOOK_MS = 30_000;
/** Hysteresis: the part of the floor that must be free above it, before the log says that there is room again. */
const SLACK = 0.05;

/** Warns once when the disk is filling up, long before it is full, and logs once when there is room again. */
export class DiskSpaceMonitor {
  readonly #floorBytes: number;
  readonly #facts: () => Pick<StoreFacts, 'store' | 'room'>;
  readonly #log: Logger;
  readonly stop = every(LOOK_MS, () => this.look());
  #isLow = false;

  /** @param floorBytes free space below which it warns; 0 turns the warning off. */
  constructor(floorBytes: number, facts: () => Pick<StoreFacts, 'store' | 'room'>, log: Logger) {
    this.#floorBytes = floorBytes;
    this.#facts = facts;
    this.#log = log;
  }

  /** Never throws: if the database or its disk cannot be read now, others report that. */
  look(): void {
    try {
      const { store, room } = this.#facts();
      this.#update(store.free_bytes, room);
    } catch {
      // The next look tries again.
    }
  }

  #update(free: number, room: StoreFacts['room']): void {
    const isLow = free < this.#floorBytes * (this.#isLow ? 1 + SLACK : 1);
    if (isLow === this.#isLow) return;
    this.#isLow = isLow;
    if (isLow) logProblem(this.#log, problem('disk_low', free, this.#floorBytes, room));
    else this.#log.info('there is room on the disk again');
  }
}
