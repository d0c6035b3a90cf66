import fs from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { PLANTS, planted } from './plants.ts';

/**
 * Time and chance of a simulation. Loaded before anything else (`--import`), it puts the simulation's own in the place of the
 * globals and of Node's modules that the store takes them from; so production's code runs as it is, and only the scheduler decides what
 * happens next. Some modules of `src` have a stand-in too, with smaller bounds; a fault that is planted is
 * put into the text of a file as it is loaded.
 */

/** A callback that the store waits for. */
interface Pending {
  readonly run: () => void;
  /** Milliseconds of the monotonic clock; with equal ones the first that was set. */
  readonly at: number;
  readonly everyMs: number | undefined;
  readonly order: number;
}

const realImmediate = globalThis.setImmediate;
const RealDate = globalThis.Date;
/** How long a look at the clock takes: loops that end by the clock do. */
const LOOK_MS = 0.01;

/** The one clock, and everything that waits. */
class Timeline {
  monotonicMs = 0;
  /** What the clock of the box is ahead of the monotonic one. */
  offsetMs = 0;
  readonly immediates: Pending[] = [];
  timers: Pending[] = [];
  /** Real work that is under way: loading a module. */
  readonly outside = new Set<Promise<unknown>>();
  #order = 0;
  #random = () => 0.5;

  begin(random: () => number, wallMs: number): void {
    this.clear();
    this.#random = random;
    this.#order = 0;
    this.monotonicMs = 1000;
    this.offsetMs = wallMs - 1000;
  }

  /** The process has gone, and with it whatever it waited for. */
  clear(): void {
    this.immediates.length = 0;
    this.timers = [];
  }

  random(): number {
    return this.#random();
  }

  look(): number {
    this.monotonicMs += LOOK_MS;
    return this.monotonicMs;
  }

  wallMs(): number {
    return Math.floor(this.look() + this.offsetMs);
  }

  immediate(run: () => void): Pending {
    const pending: Pending = { run, at: 0, everyMs: undefined, order: this.#order++ };
    this.immediates.push(pending);
    return pending;
  }

  timer(run: () => void, ms: number, isRepeated = false): Pending {
    const everyMs = Math.max(1, Number.isFinite(ms) ? ms : 1);
    const pending: Pending = {
      run,
      at: this.monotonicMs + everyMs,
      everyMs: isRepeated ? everyMs : undefined,
      order: this.#order++,
    };
    this.timers.push(pending);
    return pending;
  }

  cancel(pending: Pending | undefined): void {
    if (pending === undefined) return;
    this.timers = this.timers.filter((one) => one.order !== pending.order);
    const at = this.immediates.indexOf(pending);
    if (at >= 0) this.immediates.splice(at, 1);
  }

  runImmediate(): void {
    this.immediates.shift()?.run();
  }

  /** Lets the time pass until the next timer, or a little longer. */
  runTimer(lateMs = 0): void {
    const next = this.timers.reduce<Pending | undefined>(
      (a, b) => (a === undefined || b.at < a.at || (b.at === a.at && b.order < a.order) ? b : a),
      undefined,
    );
    if (next === undefined) return;
    this.monotonicMs = Math.max(this.monotonicMs, next.at) + lateMs;
    this.timers = this.timers.filter((one) => one !== next);
    if (next.everyMs !== undefined) this.timers.push({ ...next, at: this.monotonicMs + next.everyMs });
    next.run();
  }

  /** Everything that promises have set going has come to a wait. */
  async settled(): Promise<void> {
    await new Promise<void>((resolve) => realImmediate(resolve));
    while (this.outside.size > 0) {
      await Promise.allSettled(this.outside);
      await new Promise<void>((resolve) => realImmediate(resolve));
    }
  }
}

export const timeline = new Timeline();

/** What `setTimeout` returns. */
class Handle {
  readonly pending: Pending;
  constructor(pending: Pending) {
    this.pending = pending;
  }
  unref(): this {
    return this;
  }
  ref(): this {
    return this;
  }
}

type Callback = (...args: unknown[]) => void;
const cancel = (handle: Handle | undefined) => timeline.cancel(handle?.pending);

/** The promises of node:timers/promises. */
export const timerPromises = {
  setTimeout<Value>(ms = 1, value?: Value, { signal }: { signal?: AbortSignal } = {}): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const pending = timeline.timer(() => {
        signal?.removeEventListener('abort', abort);
        resolve(value as Value);
      }, ms);
      const abort = () => {
        timeline.cancel(pending);
        reject(signal!.reason);
      };
      signal?.addEventListener('abort', abort, { once: true });
    });
  },
  setImmediate: <Value>(value?: Value): Promise<Value> =>
    new Promise((resolve) => timeline.immediate(() => resolve(value as Value))),
};

/** Takes over the globals. What the harness itself waits for, it has taken before. */
export function takeOver(): void {
  class BoxDate extends RealDate {
    constructor(...args: unknown[]) {
      super(...((args.length === 0 ? [timeline.wallMs()] : args) as [number]));
    }
    static override now(): number {
      return timeline.wallMs();
    }
  }
  Object.defineProperty(performance, 'now', { value: () => timeline.look() });
  Object.assign(globalThis, {
    Date: BoxDate,
    setTimeout: (run: Callback, ms = 1, ...args: unknown[]) =>
      new Handle(timeline.timer(() => run(...args), ms)),
    setInterval: (run: Callback, ms = 1, ...args: unknown[]) =>
      new Handle(timeline.timer(() => run(...args), ms, true)),
    setImmediate: (run: Callback, ...args: unknown[]) => new Handle(timeline.immediate(() => run(...args))),
    clearTimeout: cancel,
    clearInterval: cancel,
    clearImmediate: cancel,
  });
  Math.random = () => timeline.random();
  takeOverFiles();
}

/** Descriptors that the store has opened by itself. */
const descriptors = new Set<number>();

function takeOverFiles(): void {
  const { openSync, closeSync } = fs;
  fs.openSync = (...args) => {
    const fd = openSync(...args);
    descriptors.add(fd);
    return fd;
  };
  fs.closeSync = (fd) => {
    descriptors.delete(fd);
    closeSync(fd);
  };
  // In another thread, and at any time.
  const fdatasync = (fd: number, done: (error: unknown) => void) => {
    timeline.immediate(() => {
      try {
        fs.fdatasyncSync(fd);
      } catch (error) {
        return done(error);
      }
      done(null);
    });
  };
  Object.assign(fs, { fdatasync });
  const isOther = (pid: number) => pid !== process.pid;
  process.kill = (pid, signal) => {
    if (signal === 0 && isOther(pid)) throw Object.assign(new Error('no such process'), { code: 'ESRCH' });
    return true;
  };
}

/** The process has ended, and another one begins. @param pid its number. */
export function endProcess(pid: number): void {
  for (const fd of descriptors) fs.closeSync(fd);
  for (const event of ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(event);
  Object.defineProperty(process, 'pid', { value: pid, configurable: true });
}

const SRC = new URL('../../src/', import.meta.url).href;

/** What modules of `src` get in the place of Node's, of better-sqlite3 and of each other. */
const STAND_INS: Readonly<Record<string, string>> = {
  'node:timers/promises': 'timers.ts',
  'node:worker_threads': 'workers.ts',
  'node:crypto': 'crypto.ts',
  'better-sqlite3': 'sqlite.ts',
  [`${SRC}base/limits.ts`]: 'limits.ts',
  [`${SRC}store/db/sizes.ts`]: 'sizes.ts',
  [`${SRC}fleet/log/chunk.ts`]: 'chunk.ts',
};

/** @param name of the fault to plant; undefined: none. */
export function hookModules(name: string | undefined): void {
  const plant = PLANTS.find((one) => one.name === name);
  if (name !== undefined && plant === undefined) throw new Error(`there is no fault ${name}: see --list`);
  registerHooks({
    resolve(specifier, context, next) {
      if (!context.parentURL?.startsWith(SRC)) return next(specifier, context);
      const asked = specifier.startsWith('.') ? new URL(specifier, context.parentURL).href : specifier;
      const standIn = STAND_INS[asked];
      if (standIn === undefined) return next(specifier, context);
      return next(new URL(`standIns/${standIn}`, import.meta.url).href, context);
    },
    load(url, context, next) {
      const loaded = next(url, context);
      if (plant === undefined || !url.startsWith(SRC)) return loaded;
      const file = fileURLToPath(url).slice(fileURLToPath(SRC).length);
      return { ...loaded, source: planted(file, String(loaded.source), plant) };
    },
  });
}
