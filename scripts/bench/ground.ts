import fs from 'node:fs';
import path from 'node:path';
import { say } from '../../src/cli/terminal/output.ts';
import { Child } from './child.ts';
import type { Order, Outcome } from './clients/client.ts';
import { runOwn } from './clients/own.ts';
import { runWrk } from './clients/wrk.ts';
import { matches } from './matches.ts';
import { seed } from './seed.ts';

export interface BenchOptions {
  /** Of one run. */
  readonly seconds: number;
  readonly rounds: number;
  /** Contenders by name. */
  readonly only?: readonly string[];
  readonly client: 'wrk' | 'own';
  /** All that takes long as well. */
  readonly full: boolean;
  readonly venueSeconds: number;
  /** Files of events, one JSON object a line. */
  readonly events?: readonly string[];
}

export const MILLION = 1_000_000;
/** Its name, and that of its only session. */
const MILLION_NAME = 'a-million';

/** What the sections share: the options, the client, the disk, and the most memory that any courtd ever had. */
export class Ground {
  readonly options: BenchOptions;
  readonly directory: string;
  #million: Promise<unknown> | undefined;
  #peakBytes = Number.NaN;

  constructor(options: BenchOptions, directory: string) {
    this.options = options;
    this.directory = directory;
  }

  send(order: Order): Promise<Outcome> {
    return this.options.client === 'wrk' ? runWrk(order) : runOwn(order);
  }

  /** @returns an empty directory. */
  empty(name: string): string {
    const directory = path.join(this.directory, name);
    fs.rmSync(directory, { recursive: true, force: true });
    fs.mkdirSync(directory);
    return directory;
  }

  /** @returns a data directory with one session of a million events in it, which nobody else has. */
  async million(name: string): Promise<{ readonly directory: string; readonly session: string }> {
    this.#million ??= this.seeded(MILLION_NAME, MILLION, 1);
    await this.#million;
    const directory = path.join(this.directory, name);
    fs.cpSync(path.join(this.directory, MILLION_NAME), directory, { recursive: true });
    await this.settle();
    return { directory, session: MILLION_NAME };
  }

  /** @returns a data directory with so many events in it. */
  async seeded(name: string, events: number, sessions: number): Promise<string> {
    say(`Storing ${events.toLocaleString('en')} events first.`);
    const directory = this.empty(name);
    await seed(directory, matches(name, events, sessions));
    return directory;
  }

  /** What was written before is not charged to what comes now. */
  async settle(): Promise<void> {
    await new Child('sync', []).output();
  }

  /** Call it before a courtd that took a load is stopped. */
  notePeak(bytes: number): void {
    if (!(this.#peakBytes > bytes)) this.#peakBytes = bytes;
  }

  /** NaN where none took a load. */
  get peakBytes(): number {
    return this.#peakBytes;
  }
}
