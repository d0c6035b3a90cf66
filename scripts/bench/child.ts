import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import readline from 'node:readline';

const STOP_MS = 10_000;
const ERRORS_CHARS = 4_000;
/** The same on every Linux: the kernel's USER_HZ. */
const CLOCK_TICKS_PER_S = 100;

/** What a process has used so far. */
export interface Usage {
  readonly cpuSeconds: number;
  /** That it passed to write(2) and its kin, to files, pipes and sockets. */
  readonly writtenBytes: number;
}

/** A program that the benchmark started; it never outlives the benchmark. */
export class Child {
  static readonly #alive = new Set<Child>();
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #lines: readline.Interface;
  #errors = '';

  constructor(command: string, args: readonly string[]) {
    this.#process = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#ended = once(this.#process, 'close').catch((error) => {
      this.#errors += error;
    });
    this.#lines = readline.createInterface({ input: this.#process.stdout! });
    this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-ERRORS_CHARS);
    });
    Child.#alive.add(this);
    void this.#ended.then(() => Child.#alive.delete(this));
  }

  /** Kills every child at once: a paused one would outlive its parent. */
  static endAll(): void {
    for (const child of Child.#alive) child.#process.kill('SIGKILL');
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** @returns the port of the first line of output that is JSON with one. @throws {Error} if it ends before. */
  async port(): Promise<number> {
    const found = new Promise<number>((resolve) => {
      this.#lines.on('line', (line) => {
        const port = line.startsWith('{') ? JSON.parse(line).port : undefined;
        if (port !== undefined) resolve(port);
      });
    });
    return Promise.race([found, this.#ended.then(() => this.fail())]);
  }

  /** @returns its output, after it has exited with status 0. @throws {Error} */
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

  pause(): void {
    this.#process.kill('SIGSTOP');
  }

  resume(): void {
    this.#process.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    this.resume();
    this.#process.kill('SIGTERM');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), STOP_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  /** @returns what it has used, its threads included. */
  usage(): Usage {
    const proc = (file: string) => fs.readFileSync(`/proc/${this.#process.pid}/${file}`, 'utf8');
    // Fields 14 and 15 of stat; the second is the program's name, which may hold spaces.
    const [, user, system] = /\) (?:\S+ ){11}(\d+) (\d+)/.exec(proc('stat'))!;
    const writtenBytes = Number(/^wchar: (\d+)/m.exec(proc('io'))![1]);
    return { cpuSeconds: (Number(user) + Number(system)) / CLOCK_TICKS_PER_S, writtenBytes };
  }
}
