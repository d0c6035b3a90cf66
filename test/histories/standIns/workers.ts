import { EventEmitter } from 'node:events';
import { timeline } from '../world.ts';

/** In the place of node:worker_threads: what a worker does runs in this thread, between two steps of it. */

export const isMainThread = true;
export const parentPort = null;
export const workerData = undefined;

/** Exported by the file of a worker. */
type Work = (data: unknown, port: { postMessage(message: unknown): void }) => Promise<void>;

export class Worker extends EventEmitter {
  constructor(file: URL, { workerData }: { workerData: unknown }) {
    super();
    const loading = import(file.href).then(({ work }: { work: Work }) => {
      timeline.immediate(() => this.#run(work, workerData));
    });
    timeline.outside.add(loading);
    void loading.finally(() => timeline.outside.delete(loading));
  }

  #run(work: Work, data: unknown): void {
    const tell = (event: string, value: unknown) => timeline.immediate(() => this.emit(event, value));
    const port = { postMessage: (message: unknown) => tell('message', message) };
    work(data, port).then(
      () => tell('exit', 0),
      (error) => this.emit('error', error),
    );
  }
}
