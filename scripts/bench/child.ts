import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import readline from 'node:readline';
import { kill, processTree, readProc } from './processTree.ts';

const STOP_MS = 10_000;
const ERRORS_CHARS = 4_000;
const PEAK_LOOK_MS = 20;
/** The same on every Linux: the kernel's USER_HZ. */
const CLOCK_TICKS_PER_S = 100;

/** A program that the bench started; it never outlives the bench. */
export class Child {
  static readonly #alive = new Set<Child>();
  static #isOver = false;
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #lines: readline.Interface;
  #errors = '';

  /**
   * @param under the program that starts it, with its arguments.
   * @throws {Error} after `endAll`.
   */
  constructor(command: string, args: readonly string[], under: readonly string[] = []) {
    if (Child.#isOver) throw new Error('The bench has been stopped.');
    const [first, ...rest] = [...under, command, ...args];
    this.#process = spawn(first!, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#ended = once(this.#process, 'close').catch((error) => {
      this.#errors += error;
    });
    this.#lines = readline.createInterface({ input: this.#process.stdout! });
    this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-ERRORS_CHARS);
    });
    Child.#alive.add(this);
    this.#ended.then(() => Child.#alive.delete(this));
  }

  /** Kills every child and its own at once, since a paused one would outlive its parent; none can be started after that. */
  static endAll(): void {
    Child.#isOver = true;
    for (const { pid } of [...Child.#alive].map((child) => child.#process)) {
      if (pid !== undefined) for (const one of processTree(pid)) kill(one, 'SIGKILL');
    }
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** @returns what `pick` returns for the first line of output for which it returns something. */
  async firstLine<Found>(pick: (line: string) => Found | undefined): Promise<Found> {
    const found = new Promise<Found>((resolve) => {
      this.#lines.on('line', (line) => {
        const value = pick(line);
        if (value !== undefined) resolve(value);
      });
    });
    return Promise.race([found, this.#ended.then(() => this.fail())]);
  }

  /** @returns its output, after it has exited with status 0. */
  async output(): Promise<string> {
    const lines: string[] = [];
    this.#lines.on('line', (line) => lines.push(line));
    await this.#ended;
    if (this.#process.exitCode !== 0) this.fail();
    return lines.join('\n');
  }

  fail(): never {
    const end = this.#process.exitCode ?? this.#process.signalCode;
    throw new Error(`${this.#process.spawnargs.slice(0, 2).join(' ')} ended (${end}). ${this.#errors}`);
  }

  /** Stops it while another contender is measured, so that its background work does not slow that one down. */
  pause(): void {
    for (const pid of processTree(this.#process.pid!)) kill(pid, 'SIGSTOP');
  }

  resume(): void {
    for (const pid of processTree(this.#process.pid!)) kill(pid, 'SIGCONT');
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.resume();
    this.#process.kill(signal);
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), STOP_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  /** Kills it, so that it finishes nothing. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }

  /** @returns its peak memory, in bytes, after it has exited with status 0. */
  async peakOfItsLife(): Promise<number> {
    let peak = 0;
    const timer = setInterval(() => {
      const seen = this.peakBytes();
      if (seen > peak) peak = seen;
    }, PEAK_LOOK_MS);
    await this.output();
    clearInterval(timer);
    return peak;
  }

  /** @returns the CPU time that it and its children have used, those that have ended included. */
  cpuSeconds(): number {
    return this.#sum(cpuSecondsOf);
  }

  /** @returns the memory of it and its children now, in bytes; what they share counts once. */
  memoryBytes(): number {
    return this.#sum((pid) => Number(/^Pss:\s+(\d+) kB/m.exec(readProc(pid, 'smaps_rollup'))?.[1]) * 1024);
  }

  /** @returns its peak memory so far, in bytes. */
  peakBytes(): number {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readProc(this.#process.pid!, 'status'))?.[1]) * 1024;
  }

  #sum(value: (pid: number) => number): number {
    const [own, ...children] = processTree(this.#process.pid!).map(value);
    // A child that has just ended has no value any more.
    return children.reduce((sum, child) => sum + (child || 0), own!);
  }
}

/**
 * @returns the CPU time that one process has used, and those of its children that have ended; NaN where there is no /proc, or the
 * process has ended.
 */
export function cpuSecondsOf(pid: number): number {
  // Fields 14 to 17, user and system time, its own and its children's; the second is the program's name, which may hold spaces.
  const times = /\) (?:\S+ ){11}(\d+) (\d+) (\d+) (\d+)/.exec(readProc(pid, 'stat'))?.slice(1);
  return times === undefined
    ? Number.NaN
    : times.reduce((sum, ticks) => sum + Number(ticks), 0) / CLOCK_TICKS_PER_S;
}
