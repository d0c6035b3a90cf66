import { EventEmitter } from 'node:events';
import { timeline } from '../world.ts';

/**
 * In the place of node:worker_threads: a worker runs in this thread, between two steps of it. `miniature.ts` makes a function of
 * each worker's file.
 */

/** What a worker posts to, and hears from. */
class Port extends EventEmitter {
  other: EventEmitter | undefined;
  postMessage(message: unknown): void {
    const { other } = this;
    timeline.immediate(() => other?.emit('message', message));
  }
  close(): void {}
}

/** Of the worker that runs. */
export let parentPort: Port | undefined;
export const workerData: unknown = undefined;

type Work = (data: unknown, port: Port) => unknown;

export class Worker extends EventEmitter {
  readonly #port = new Port();

  constructor(file: URL, { workerData }: { workerData: unknown }) {
    super();
    this.#port.other = this;
    const loading = import(file.href).then(({ default: work }: { default: Work }) => {
      timeline.immediate(() => this.#run(work, workerData));
    });
    timeline.outside.add(loading);
    void loading.finally(() => timeline.outside.delete(loading));
  }

  postMessage(message: unknown): void {
    timeline.immediate(() => this.#port.emit('message', message));
  }

  unref(): this {
    return this;
  }

  #run(work: Work, data: unknown): void {
    parentPort = this.#port;
    const end = () => timeline.immediate(() => this.emit('exit', 0));
    try {
      const result = work(data, this.#port);
      if (result instanceof Promise) result.then(end, (error) => this.emit('error', error));
      else end();
    } catch (error) {
      this.emit('error', error);
    }
  }
}
