import fs from 'node:fs';
import path from 'node:path';
import { Child } from './child.ts';
import type { Order, Outcome } from './clients/client.ts';
import { runOwn } from './clients/own.ts';
import { runWrk } from './clients/wrk.ts';

export interface BenchOptions {
  /** Of one run. */
  readonly seconds: number;
  readonly rounds: number;
  /** Contenders by name. */
  readonly only?: readonly string[];
  readonly client: 'wrk' | 'own';
  readonly venueSeconds: number;
}

/** What the sections share: the options, the client, the disk, and the peak memory of courtd. */
export class Ground {
  readonly options: BenchOptions;
  readonly directory: string;
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
