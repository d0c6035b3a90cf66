import { setTimeout as sleep } from 'node:timers/promises';
import { BUSY_GIVE_UP_MS, START_BARRIER_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { askDaemon } from '../../control/controlClient.ts';
import { STATUS_PATH } from '../../control/daemonStatus.ts';
import { Problem } from '../../protocol/errors.ts';
import { explain } from '../../store/open/openErrors.ts';
import type { Store } from '../../store/store.ts';
import type { Counts } from '../../store/write/appender.ts';
import { openStoppedStore } from '../options/stoppedStore.ts';
import { DaemonSink } from './daemonSink.ts';
import { type BatchLimits, type FileBatch, REQUEST_LIMITS } from './eventFile.ts';

/** Where events go: each batch whole or not at all. */
export interface EventSink {
  readonly limits: BatchLimits;
  /**
   * @throws {FileFault} where the daemon has a rule that this command does not know.
   * @throws {OperatorError} Then nothing of the batch is stored.
   */
  send(batch: FileBatch): Promise<Counts>;
  close(): Promise<void>;
}

/** @returns the daemon where it runs, else the database. @throws {OperatorError} where events cannot be stored. */
export async function openSink(directory: string): Promise<EventSink> {
  const store = await openStoppedStore(directory, 'Import again when that is fixed.');
  if (store !== undefined) return new DatabaseSink(directory, store);
  if ((await askDaemon(directory, STATUS_PATH)) !== undefined) return new DaemonSink(directory);
  throw new OperatorError(
    `Another command writes to ${directory}, or the daemon is just starting or stopping: import again in a moment.`,
  );
}

/** The database, while no daemon runs: as the daemon stores, behind its lock. */
class DatabaseSink implements EventSink {
  readonly limits = REQUEST_LIMITS;
  readonly #directory: string;
  readonly #store: Store;

  constructor(directory: string, store: Store) {
    this.#directory = directory;
    this.#store = store;
  }

  async send({ events }: FileBatch): Promise<Counts> {
    const giveUpAt = performance.now() + START_BARRIER_MS;
    for (;;) {
      try {
        return await this.#store.append(events);
      } catch (error) {
        if (!(error instanceof Problem)) throw explain(error, this.#directory);
        // Such as a prune's lock, or keys that are on their way to the file.
        const mayPass = error.code === 'storage_busy' || error.code === 'overloaded';
        if (!mayPass || performance.now() > giveUpAt) throw new OperatorError(this.#sentenceOf(error));
      }
      await sleep(BUSY_GIVE_UP_MS);
    }
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #sentenceOf({ code }: Problem): string {
    if (code === 'storage_full') return `The disk of ${this.#directory} is full: make room and import again.`;
    if (code === 'storage_failed')
      return `The database in ${this.#directory} is damaged: keep a copy of it, and restore a backup.`;
    return `The database in ${this.#directory} is locked by another program: try again when it is done.`;
  }
}
