import { once } from 'node:events';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BIN, type Cleanup, start } from './daemon.ts';

/**
 * A `courtd tail --json --follow` in a process of its own, and what it has printed. Who waits for something that does not come
 * is told what came instead.
 */

/** Many times what a busy machine takes, and less than tap gives a file. */
const GIVE_UP_MS = 300_000;
const LOOK_MS = 5;

export interface TailLine {
  readonly seq: number;
  readonly received_at: string;
  readonly late?: true;
  readonly event: { readonly event_id: string; readonly [name: string]: unknown };
}

export class Tail {
  readonly child: ReturnType<typeof start>;
  /** Its exit status, or the signal that ended it. */
  readonly ended: Promise<number | string | null>;
  stdout = '';
  stderr = '';

  constructor(t: Cleanup, data: string, ...args: string[]) {
    this.child = start(BIN, ['tail', '--follow', '--json', '--data', data, ...args]);
    this.ended = new Promise((resolve) => {
      this.child.once('close', (status, signal) => resolve(status ?? signal));
    });
    this.child.stdout.setEncoding('utf8').on('data', (text) => {
      this.stdout += text;
    });
    this.child.stderr.setEncoding('utf8').on('data', (text) => {
      this.stderr += text;
    });
    t.teardown(() => {
      this.child.kill('SIGKILL');
      return this.ended;
    });
  }

  get lines(): TailLine[] {
    return this.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  get ids(): string[] {
    return this.lines.map(({ event }) => event.event_id);
  }

  /** Resolves when so many lines have come. */
  async has(count: number): Promise<void> {
    let lines = 0;
    for (let from = 0; ; ) {
      for (let at = this.stdout.indexOf('\n', from); at >= 0; at = this.stdout.indexOf('\n', from)) {
        lines++;
        from = at + 1;
      }
      if (lines >= count) return;
      await this.#more(this.child.stdout, () => `${count} lines, and has ${lines}`);
    }
  }

  /** Resolves when it has said this. */
  async said(words: RegExp): Promise<void> {
    while (!words.test(this.stderr)) await this.#more(this.child.stderr, () => `${words}`);
  }

  /** Resolves when it has nothing of the database open. */
  async letsGo(): Promise<void> {
    const giveUpAt = performance.now() + GIVE_UP_MS;
    while (holdsDatabase(this.child.pid!)) {
      if (performance.now() > giveUpAt) throw new Error(`tail holds the database: ${this.#state}`);
      await sleep(LOOK_MS);
    }
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string | null> {
    this.child.kill(signal);
    return this.ended;
  }

  get #state(): string {
    const { signalCode, exitCode } = this.child;
    const state = signalCode ?? exitCode ?? 'it runs';
    return `${state}; its last line is ${this.stdout.trimEnd().split('\n').at(-1)}; it said: ${this.stderr}`;
  }

  /** Waits for more of a stream. @param what is waited for. */
  async #more(stream: NodeJS.ReadableStream, what: () => string): Promise<void> {
    const over = new AbortController();
    const { signal } = over;
    const late = sleep(GIVE_UP_MS, undefined, { signal }).then(() => 'nothing comes');
    const ended = this.ended.then(() => 'it has ended');
    try {
      const why = await Promise.race([once(stream, 'data', { signal }), late, ended]);
      if (typeof why === 'string') throw new Error(`tail: waited for ${what()}: ${why}: ${this.#state}`);
    } finally {
      over.abort();
    }
  }
}

/** @returns whether a process has the database, or a file that belongs to it, open. */
export function holdsDatabase(pid: number): boolean {
  return fs.readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return fs.readlinkSync(`/proc/${pid}/fd/${fd}`).includes('courtd.db');
    } catch {
      // Closed meanwhile.
      return false;
    }
  });
}
