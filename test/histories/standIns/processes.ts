import { EventEmitter } from 'node:events';
import { pathToFileURL } from 'node:url';
import { timeline } from '../world.ts';

export * from 'node:child_process';

/** What such a process has for `process`. */
class Inner extends EventEmitter {
  readonly #outer: EventEmitter;

  constructor(outer: EventEmitter) {
    super();
    this.#outer = outer;
  }

  send(message: unknown, done: () => void): void {
    timeline.immediate(() => {
      this.#outer.emit('message', message);
      done();
    });
  }

  exit(status: number): void {
    timeline.immediate(() => this.#outer.emit('exit', status));
  }
}

type Work = (data: unknown, port: unknown, inner: Inner) => Promise<void>;

class Child extends EventEmitter {
  readonly #inner = new Inner(this);
  readonly #ready: Promise<void>;

  constructor(file: string) {
    super();
    this.#ready = import(pathToFileURL(file).href).then(({ default: work }: { default: Work }) => {
      work(undefined, undefined, this.#inner).catch((error) => this.emit('error', error));
    });
    timeline.outside.add(this.#ready);
    void this.#ready.finally(() => timeline.outside.delete(this.#ready));
  }

  send(message: unknown): void {
    void this.#ready.then(() => timeline.immediate(() => this.#inner.emit('message', message)));
  }

  kill(): void {}
}

/** In the place of that of node:child_process: a process that hears and says a message runs in this one. */
export function fork(file: string): Child {
  return new Child(file);
}
