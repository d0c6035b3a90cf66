import fs from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import { partialNameOf, removeLeftovers } from '../base/atomicFile.ts';
import { METRICS_FILE_MS } from '../base/limits.ts';
import { cannotWrite } from '../base/operatorError.ts';

/** World-readable: node_exporter runs as another user. */
const FILE_MODE = 0o644;

/**
 * Writes the metrics to a file every METRICS_FILE_MS, for node_exporter's textfile collector. Through a temporary file and a rename,
 * so that nobody reads half of it; not synced, since after a power cut it is out of date anyway. The daemon removes it when it ends,
 * so that nobody takes it for current. A failure to write it never delays an event: it is logged once.
 */
export class MetricsFile {
  readonly #file: string;
  readonly #text: () => Promise<string>;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #writing: Promise<void> | undefined;
  #isFailing = false;
  #isStopped = false;

  constructor(file: string, text: () => Promise<string>, log: Logger) {
    this.#file = file;
    this.#text = text;
    this.#log = log;
    this.#timer = setInterval(() => void this.write(), METRICS_FILE_MS).unref();
  }

  /** Writes now; waits for a write that is in progress instead, since a disk may be slow. Never throws. */
  write(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#writing;
    await rm(this.#file, { force: true }).catch(() => {});
  }

  async #write(): Promise<void> {
    const partial = partialNameOf(this.#file);
    try {
      const text = await this.#text();
      if (this.#isStopped) return;
      const folder = path.dirname(this.#file);
      if (this.#isFailing || !fs.existsSync(this.#file)) {
        removeLeftovers(folder, (name) => name === path.basename(this.#file));
      }
      await rm(partial, { force: true });
      const handle = await open(partial, 'wx', FILE_MODE);
      try {
        // Whatever the umask.
        await handle.chmod(FILE_MODE);
        await handle.writeFile(text);
      } finally {
        await handle.close();
      }
      await rename(partial, this.#file);
      if (this.#isFailing) this.#log.info({ file: this.#file }, 'the metrics file is written again');
      this.#isFailing = false;
    } catch (error) {
      await rm(partial, { force: true }).catch(() => {});
      this.#failed(error as NodeJS.ErrnoException);
    }
  }

  /** Logs a failure, once until the file has been written again. */
  #failed(error: NodeJS.ErrnoException): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    const reason = cannotWrite(this.#file, error);
    this.#log.warn({ reason }, 'the metrics file is not written: events are accepted all the same');
  }
}
