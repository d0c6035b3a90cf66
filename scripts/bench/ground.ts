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
  /** Includes what takes long. */
  readonly full: boolean;
  readonly venueSeconds: number;
  /** Simulated power cuts of each peer. */
  readonly powerCuts: number;
  /** Files of events, one JSON object a line. */
  readonly events?: readonly string[];
}

export const MILLION = 1_000_000;
/** Its name, and that of its only session. */
const MILLION_NAME = 'a-million';

/** What the sections share: the options, the client, the disk, and the peak memory of courtd. */
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

  /** @returns a data directory of the caller's own with one session of a million events. */
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

  /** Waits until earlier writes are on the disk, so that they do not slow down what is measured next. */
  async settle(): Promise<void> {
    await new Child('sync', []).output();
  }

  /** Call it before stopping a courtd that took a load. */
  notePeak(bytes: number): void {
    if (!(this.#peakBytes > bytes)) this.#peakBytes = bytes;
  }

  /** @returns the peak since the last call; NaN where no courtd took a load. */
  takePeak(): number {
    const peak = this.#peakBytes;
    this.#peakBytes = Number.NaN;
    return peak;
  }
}
