import { setTimeout as sleep } from 'node:timers/promises';
import { START_BARRIER_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { askDaemon, DaemonHangs } from '../../control/controlClient.ts';
import { IMPORT_PATH, type ImportAnswer } from '../../control/importRoute.ts';
import type { Counts } from '../../store/write/appender.ts';
import { type BatchLimits, type FileBatch, FileFault, sentenceOf } from './eventFile.ts';
import type { EventSink } from './eventSink.ts';

/** Between two tries. */
const RETRY_MS = 250;

/**
 * The running daemon: it checks every line again, by its own rules, and stores the batch like one from a camera. It may restart
 * meanwhile: a batch that was stored before its answer was lost is then counted as duplicates.
 */
export class DaemonSink implements EventSink {
  /** Small batches: a camera's request may share the commit. */
  readonly limits: BatchLimits = { events: 100, bytes: 256 * 1024 };
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async send({ lines }: FileBatch): Promise<Counts> {
    const body = Buffer.concat(lines.flatMap(({ text }, i) => (i === 0 ? [text] : [LINE_FEED, text])));
    const giveUpAt = performance.now() + START_BARRIER_MS;
    for (;;) {
      const answer = await this.#ask(body);
      if (answer !== undefined && 'counts' in answer) return answer.counts;
      if (answer !== undefined && 'fault' in answer) {
        const { index, message, members } = answer.fault;
        throw new FileFault(lines[index]?.number ?? null, sentenceOf({ message, members }));
      }
      const code = answer?.refused.code;
      if (code === 'storage_full')
        throw new OperatorError(`The disk of ${this.#directory} is full: make room and import again.`);
      if (code === 'storage_failed')
        throw new OperatorError(
          `The database in ${this.#directory} is damaged: see the log ("journalctl -u courtd"), and import again when that is fixed.`,
        );
      if (performance.now() > giveUpAt) throw new OperatorError(this.#sentenceOf(answer));
      await sleep(RETRY_MS);
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** @returns undefined where it is not running, or does not answer now. */
  async #ask(body: Buffer): Promise<Exclude<ImportAnswer, undefined> | undefined> {
    try {
      return await askDaemon<ImportAnswer>(this.#directory, IMPORT_PATH, 'POST', body);
    } catch (error) {
      if (error instanceof DaemonHangs) return undefined;
      throw error;
    }
  }

  #sentenceOf(answer: ImportAnswer | undefined): string {
    if (answer === undefined)
      return `The daemon of ${this.#directory} has stopped, or does not answer: import again when it is running, or after you have stopped it for good.`;
    return `The daemon of ${this.#directory} has been too busy for the events for ${START_BARRIER_MS / 1_000} s: import again later.`;
  }
}

const LINE_FEED = Buffer.from('\n');
