import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { COMMAND_BUSY_MS, FOLLOW_POLL_MS, READ_CHUNK_ROWS } from '../../base/limits.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { arrivalToJson } from '../../protocol/event.ts';
import { ArrivalLog, type Arrivals, TemporarilyUnreadable } from '../../store/arrivalLog.ts';
import type { ArrivalFilter } from '../../store/read/arrivalReader.ts';
import type { DataOption } from '../options/withDatabase.ts';
import { LineOutput } from '../terminal/lineOutput.ts';
import { type JsonOption, say } from '../terminal/output.ts';
import { readableLine } from './eventLine.ts';

export interface TailOptions extends DataOption, JsonOption, ArrivalFilter {
  readonly follow?: boolean;
  /** A seq; absent: the newest NEWEST_SHOWN events. */
  readonly after?: number;
}

const NEWEST_SHOWN = 10;

/** `courtd tail`: ends when it has given what was stored when it began, or never. */
export async function tail(options: TailOptions): Promise<void> {
  if (options.follow) yieldToIngest();
  const { session, type, court, source } = options;
  const log = new ArrivalLog(options.data, { session, type, court, source });
  const output = new LineOutput();
  const toLine = options.json ? arrivalToJson : readableLine;
  const retries = new DatabaseRetries(options.follow === true);
  try {
    let seq = options.after ?? (await retries.until(() => log.beforeNewest(NEWEST_SHOWN, setImmediate)));
    let end: number | undefined;
    let hasShown = false;
    for (;;) {
      const arrivals = await retries.until(() => log.after(seq, READ_CHUNK_ROWS));
      if (end === undefined) tellBeyond(seq, arrivals);
      end ??= arrivals.lastSeq;
      seq = goOn(seq, arrivals);
      await output.write(arrivals.events.map(toLine));
      if (arrivals.damage.isFound) {
        say(`courtd: ${arrivals.damage}`);
        process.exitCode = 1;
      }
      hasShown ||= arrivals.events.length > 0;
      if (!options.follow && (arrivals.isLast || seq >= end)) {
        // A program with a cursor often finds nothing new; a person may have misspelt a name.
        if (!hasShown && options.after === undefined) say('No event matched.');
        return;
      }
      if (!arrivals.isLast) continue;
      do await sleep(FOLLOW_POLL_MS);
      while (!log.mayHaveNew());
    }
  } finally {
    log.close();
  }
}

/** Says what is missing, or comes again. @returns what the next chunk comes after. */
function goOn(seq: number, { upTo, pruned, restored }: Arrivals): number {
  if (restored !== undefined && restored < seq) {
    say(
      `courtd: a backup was restored. It has the events up to seq ${restored}; those after it that came before the restore, up to ` +
        `seq ${seq} here, are not in the database any more. From seq ${restored + 1} on the same numbers are those of other events.`,
    );
  } else if (restored !== undefined) {
    say('courtd: a backup was restored, which has every event up to here.');
  }
  if (pruned !== undefined) {
    say(
      `courtd: seq ${pruned.from} to ${pruned.to}: events of this range were pruned before they could be shown.`,
    );
  }
  return upTo;
}

/** A cursor of another database, or of before a restore: numbers up to it will be given to events that nobody is shown. */
function tellBeyond(seq: number, { lastSeq }: Arrivals): void {
  if (seq <= lastSeq) return;
  say(
    `courtd: seq ${seq} has not been given yet, the last one is ${lastSeq}: was a backup restored, or is this the cursor of another ` +
      `database? Events up to seq ${seq} will not be shown; --after ${lastSeq} shows them.`,
  );
}

/** Waits for a database that is locked, and once it has been read, with --follow, for one that is away. */
class DatabaseRetries {
  readonly #follows: boolean;
  #hasRead = false;

  constructor(follows: boolean) {
    this.#follows = follows;
  }

  async until<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    for (let told = ''; ; ) {
      try {
        const result = await work();
        this.#hasRead = true;
        if (told !== '') say('courtd: the database can be read again: going on.');
        return result;
      } catch (error) {
        if (!(error instanceof TemporarilyUnreadable)) throw error;
        const isShort = error.isLocked && performance.now() - startedAt < COMMAND_BUSY_MS;
        if (!isShort && !(this.#follows && this.#hasRead)) throw error;
        if (!isShort && told !== error.message) {
          told = error.message;
          say(`courtd: ${told} Waiting for it.`);
        }
      }
      await sleep(FOLLOW_POLL_MS);
    }
  }
}
