import { EventEmitter } from 'node:events';
import { timeline } from '../world.ts';

/** In the place of node:worker_threads: what a worker does runs in this thread, between two steps of it. */

export const isMainThread = true;
export const parentPort = null;
export const workerData = undefined;

/** The port of a worker. */
class Port extends EventEmitter {
  readonly #worker: EventEmitter;

  constructor(worker: EventEmitter) {
    super();
    this.#worker = worker;
  }

  postMessage(message: unknown): void {
    timeline.immediate(() => this.#worker.emit('message', message));
  }
}

/** Exported by the file of a worker. */
type Work = (data: unknown, port: Port) => Promise<void>;

export class Worker extends EventEmitter {
  readonly #port = new Port(this);

  constructor(file: URL, { workerData }: { workerData: unknown }) {
    super();
    const loading = import(file.href).then(({ work }: { work: Work }) => {
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
    const end = () => timeline.immediate(() => this.emit('exit', 0));
    work(data, this.#port).then(end, (error) => this.emit('error', error));
  }
}
