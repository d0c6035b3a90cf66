import { setImmediate } from 'node:timers/promises';
import { OperatorError } from '../../base/operatorError.ts';
import type { Erasure } from '../../store/erasure/ledger.ts';
import { Redactor } from '../../store/erasure/redactor.ts';
import type { Epoch } from '../../store/layout/epochs.ts';
import type { RebuiltDatabase } from '../../store/rebuild/rebuiltDatabase.ts';
import { decodeLines, LineFault, type LogLine } from '../log/logLines.ts';

/** What a log is checked against, and whom it tells. */
export interface LogOptions {
  /** Goes on where something is missing. */
  readonly allowHoles: boolean;
  /** How many events have been read. */
  readonly onEvents: (events: number) => void;
  /** What is missing, or left out, in a sentence. */
  readonly onMissing: (sentence: string) => void;
}

/** Consecutive lines of a log, as they come from a copy or a pipe. */
interface LogPart {
  readonly lines: readonly string[];
  /** Where the first of them stands, for a sentence about one. */
  readonly place: (index: number) => string;
  /** Of a copy: the epoch that they are of, and the seq behind which it begins. A line of `fleet tail` names its epoch itself. */
  readonly epoch?: { readonly name: string; readonly after: number };
  /** What is missing or damaged before them, in a sentence. */
  readonly hole?: string | undefined;
}

/** Adds the log of a lost box to a database, and checks that it is one, and whole. */
export class LostLog {
  readonly #database: RebuiltDatabase;
  readonly #options: LogOptions;
  readonly #redactor: Redactor;
  /** As far as they have been read; the lines of a bare `tail` have none. */
  readonly #epochs: Epoch[] = [];
  #box: string | undefined;
  #epoch: string | undefined;
  /** The last seq that was read; undefined before the first. */
  #last: number | undefined;
  /** The log begins behind this seq. */
  begins = 0;
  /** Places where something is missing. */
  holes = 0;
  events = 0;
  /** Events that a restore of the lost box had taken back. */
  takenBack = 0;
  /** Events from before an erasure, out of which a player was taken now. */
  erased = 0;

  /** @param ledger of the lost box: nobody in it comes back. */
  constructor(database: RebuiltDatabase, options: LogOptions, ledger: readonly Erasure[]) {
    this.#database = database;
    this.#options = options;
    this.#redactor = new Redactor(ledger);
  }

  /** The box that the lines name; null where they name none. */
  get box(): string | null {
    return this.#box ?? null;
  }

  get epochs(): readonly Epoch[] {
    return this.#epochs;
  }

  /** @throws {OperatorError} where it is no part of this log, or something is missing before it. */
  async add(part: LogPart): Promise<void> {
    const { epoch, hole, place } = part;
    try {
      const lines = decodeLines(part.lines);
      if (epoch !== undefined && epoch.name !== this.#epoch) {
        await this.#enter(epoch.name, epoch.after);
        if (epoch.after > this.#last!)
          this.#miss(`the epoch ${epoch.name} begins behind seq ${epoch.after}`, epoch.after + 1);
      }
      if (hole !== undefined) this.#miss(hole, lines[0]!.seq);
      await this.#addInOrder(lines);
    } catch (error) {
      if (error instanceof LineFault) throw new OperatorError(`${place(error.index)} ${error.message}.`);
      throw error;
    }
    this.#options.onEvents(this.events);
    await setImmediate();
  }

  /** The log begins behind this seq, also where nothing can be read before the next epoch; of the first call. */
  beginBehind(seq: number): void {
    this.#last ??= this.begins = seq;
  }

  /** A restore had taken the box back to here: what came later in the epoch that has been read is no part of its log. */
  async cutAfter(seq: number): Promise<void> {
    if (this.#last === undefined || this.#last <= seq) return;
    this.takenBack += await this.#database.cutAfter(seq);
    this.#last = seq;
    this.begins = Math.min(this.begins, seq);
  }

  async #addInOrder(lines: readonly LogLine[]): Promise<void> {
    let run: LogLine[] = [];
    for (const [index, line] of lines.entries()) {
      this.#box ??= line.box;
      if (line.box !== this.#box)
        throw new LineFault(
          index,
          `is of the box ${line.box}, and those before are of ${this.#box}: a rebuild takes one box`,
        );
      if (line.epoch !== undefined && line.epoch !== this.#epoch) {
        await this.#flush(run);
        run = [];
        await this.#enter(line.epoch, line.seq - 1);
      }
      this.#last ??= this.begins = line.seq - 1;
      if (line.seq <= this.#last)
        throw new LineFault(
          index,
          `has seq ${line.seq} behind seq ${this.#last}: the log is not in the order of arrival, or holds something twice`,
        );
      this.#last = line.seq;
      run.push(line);
    }
    await this.#flush(run);
  }

  async #flush(run: readonly LogLine[]): Promise<void> {
    await this.#database.add(run.map((line) => this.#redacted(line)));
    this.events += run.length;
  }

  #redacted(line: LogLine): LogLine {
    const event = this.#redactor.redact(line.event);
    if (event === line.event) return line;
    this.erased++;
    return { ...line, event };
  }

  /** A log goes on in another epoch behind a seq of the one before: after a restore, not behind its last one. */
  async #enter(epoch: string, after: number): Promise<void> {
    if (this.#epochs.some(({ name }) => name === epoch))
      throw new OperatorError(
        `The log goes back to its epoch ${epoch}: two boxes have shipped under one name, and no rebuild can tell which events are of which.`,
      );
    this.#epoch = epoch;
    this.#epochs.push({ name: epoch, fromSeq: this.#epochs.length === 0 ? 0 : after });
    await this.cutAfter(after);
    this.beginBehind(after);
  }

  #miss(hole: string, next: number): void {
    if (next <= this.#last!)
      throw new OperatorError(`${hole}: this is not in the order of arrival. Nothing was made.`);
    const sentence = `Events between seq ${this.#last} and seq ${next} are missing: ${hole}`;
    this.holes++;
    if (!this.#options.allowHoles)
      throw new OperatorError(
        `${sentence}. Give what is missing as well, or go on without it with --allow-holes: nothing was made.`,
      );
    this.#options.onMissing(`${sentence}.`);
  }
}
