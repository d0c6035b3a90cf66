import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS, FOLLOW_POLL_MS } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { arrivalToJson } from '../../protocol/event.ts';
import { ArrivalLog, type Arrivals, TemporarilyUnreadable } from '../../store/arrivalLog.ts';
import { readErasures } from '../../store/erasure/ledger.ts';
import { withDatabase } from '../../store/open/withDatabase.ts';
import { oldestSeq } from '../../store/read/shipLag.ts';
import { tokensToCopy } from '../../store/tokens/tokens.ts';
import { CHUNK_LIMITS } from '../log/chunk.ts';
import { readReport, runDirectory, type ShipReport, writeReport } from '../ship/report.ts';
import { copyErasure } from './boxFile.ts';
import { type BoxIdentity, type EventFeed, FeedUnavailable, type LogState, type Piece } from './eventFeed.ts';

/** Of what a piece says about damage: it is a header between two processes, and a line of the status. */
const DAMAGE_CHARS = 500;

/** The feed of a data directory, in the process that has it open. */
export class LocalFeed implements EventFeed {
  readonly #directory: DataDirectory;
  readonly #log: ArrivalLog;
  readonly #runDir: string | undefined;
  #latest: ShipReport | undefined;
  /** The last piece, if nothing followed it: the database is opened again only when there may be something new. */
  #idle: { readonly after: number; readonly epoch: string } | undefined;

  constructor(directory: DataDirectory) {
    this.#directory = directory;
    this.#log = new ArrivalLog(directory);
    this.#runDir = runDirectory(process.env, directory.path);
    this.#latest = readReport(this.#runDir);
  }

  get latest(): ShipReport | undefined {
    return this.#latest;
  }

  async state(): Promise<LogState> {
    // Afterwards the log counts as seen, also what is new since the last piece.
    this.#idle = undefined;
    const { epochs, lastSeq, prunedSeq } = await this.#read(Number.MAX_SAFE_INTEGER, 1);
    return { epochs, lastSeq, prunedSeq, report: this.latest };
  }

  async next(after: number, most: number): Promise<Piece> {
    const idle = this.#idle;
    if (idle?.after === after && !this.#log.mayHaveNew()) {
      return { epoch: idle.epoch, lines: [], last: after, isLast: true };
    }
    let arrivals = await this.#read(after, most);
    let damage = `${arrivals.damage}`;
    while (arrivals.events.length === 0 && !arrivals.isLast) {
      arrivals = await this.#read(arrivals.upTo, most);
      damage ||= `${arrivals.damage}`;
    }
    const { isLast, epochs } = arrivals;
    const events = arrivals.events.filter(({ seq }) => seq > after);
    const epoch = epochs.at(-1)!.name;
    const lines: string[] = [];
    let bytes = 0;
    for (const event of events) {
      const line = arrivalToJson(event);
      bytes += Buffer.byteLength(line);
      if (lines.length > 0 && bytes > CHUNK_LIMITS.bytes) break;
      lines.push(line);
    }
    const isAll = lines.length === events.length && isLast;
    this.#idle = isAll && lines.length === 0 ? { after, epoch } : undefined;
    const last = events[lines.length - 1]?.seq ?? after;
    const piece = { epoch, lines, last, isLast: isAll };
    return damage === '' ? piece : { ...piece, damage: damage.slice(0, DAMAGE_CHARS) };
  }

  async identity(): Promise<BoxIdentity> {
    const read = (db: Database) => ({
      venue: process.env.COURTD_VENUE || null,
      oldestSeq: oldestSeq(db),
      tokens: tokensToCopy(db, Date.now()),
      erasures: readErasures(db)
        .filter(({ finishedMs }) => finishedMs !== null)
        .map(copyErasure),
    });
    return this.#withDatabase(read);
  }

  async report(report: ShipReport): Promise<void> {
    this.#latest = report;
    writeReport(this.#runDir, report);
  }

  async close(): Promise<void> {
    this.#log.close();
  }

  #withDatabase<Result>(work: (db: Database) => Result): Promise<Result> {
    // Opening it reads its header first, and closing that descriptor drops the locks of every connection of this process.
    this.#log.close();
    return withDatabase({ data: this.#directory }, work).catch((error) => {
      throw error instanceof OperatorError ? new FeedUnavailable(error.message) : error;
    });
  }

  async #read(after: number, limit: number): Promise<Arrivals> {
    for (const giveUpAt = performance.now() + COMMAND_BUSY_MS; ; ) {
      try {
        return this.#log.after(after, limit);
      } catch (error) {
        if (!(error instanceof TemporarilyUnreadable)) throw error;
        if (!error.isLocked || performance.now() > giveUpAt) throw new FeedUnavailable(error.message);
      }
      await sleep(FOLLOW_POLL_MS);
    }
  }
}
