import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BIN, type Cleanup, start } from './daemon.ts';
import { Lines } from './lines.ts';

/** A `courtd tail --json --follow` in a process of its own, and what it has printed. */

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
  readonly #printed: Lines<string>;
  readonly #said: Lines<string>;

  constructor(t: Cleanup, data: string, ...args: string[]) {
    this.child = start(BIN, ['tail', '--follow', '--json', '--data', data, ...args]);
    this.ended = new Promise((resolve) => {
      this.child.once('close', (status, signal) => resolve(status ?? signal));
    });
    this.#printed = new Lines(this.child.stdout, (text) => text);
    this.#said = new Lines(this.child.stderr, (text) => text);
    t.teardown(() => this.end('SIGKILL'));
  }

  get stdout(): string {
    return this.#printed.all.map((line) => `${line}\n`).join('');
  }

  get stderr(): string {
    return this.#said.all.map((line) => `${line}\n`).join('');
  }

  get lines(): TailLine[] {
    return this.#printed.all.map((line) => JSON.parse(line));
  }

  get ids(): string[] {
    return this.lines.map(({ event }) => event.event_id);
  }

  /** Resolves when so many lines have come: at least one. */
  async has(count: number): Promise<void> {
    await this.#printed.find(() => this.#printed.all.length >= count, 0, `${count} lines`);
  }

  /** Resolves when it has said this. */
  async said(words: RegExp): Promise<void> {
    await this.#said.find((line) => words.test(line), 0, words);
  }

  /** Resolves when it has nothing of the database open. */
  async letsGo(): Promise<void> {
    while (holdsDatabase(this.child.pid!)) await sleep(LOOK_MS);
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string | null> {
    this.child.kill(signal);
    return this.ended;
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
