import { EventEmitter } from 'node:events';
import { timeline } from '../world.ts';

/** In the place of node:worker_threads: what a thread does runs in this one, between two steps of it. */

export const isMainThread = true;
export const parentPort = null;

/** Exported by the file of a thread. */
type Work = (message: unknown) => void;

export class Worker {
  readonly #work: Promise<Work>;

  constructor(file: URL) {
    this.#work = import(file.href).then(({ work }: { work: Work }) => work);
  }

  postMessage(message: unknown): void {
    const loading = this.#work.then((work) => timeline.immediate(() => work(message)));
    timeline.outside.add(loading);
    void loading.finally(() => timeline.outside.delete(loading));
  }

  unref(): void {}
}

/** Messages from the second port to the first. */
export class MessageChannel {
  readonly port1 = Object.assign(new EventEmitter(), { close() {} });
  readonly port2 = {
    postMessage: (message: unknown) => timeline.immediate(() => this.port1.emit('message', message)),
  };
}
