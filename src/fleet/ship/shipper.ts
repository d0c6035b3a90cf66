import fs from 'node:fs';
import path from 'node:path';
import { Backoff } from '../../base/backoff.ts';
import { membersOf } from '../../base/json.ts';
import { every, pause } from '../../base/pause.ts';
import { type Chunk, seqOf } from '../log/chunk.ts';
import { NatsFault } from '../nats/faults.ts';
import { type ShipReport, shipReport } from '../report/shipReport.ts';
import { type Feed, LogUnavailable, openLog } from './boxLog.ts';
import { Fenced, hasChunk, Moved, startCursor } from './cursor.ts';
import type { Headquarters } from './natsLog.ts';

const REPORT_EVERY_MS = 5_000;
const STATUS_MS = 60_000;
/** How long an answer that is under way is waited for when the shipper is to end. */
const END_MS = 4_000;

const STATE_OF = { away: 'connecting', busy: 'behind', refused: 'refused' } as const;
const NETWORK = ' IPAddressAllow= of courtd-ship.service must have their addresses.';

interface ShipperOptions {
  readonly box: string;
  /** Of headquarters, without anything secret. */
  readonly url: string;
  /** Ends when it has caught up. */
  readonly once: boolean;
  /** The directory of the report and of `status.json`; undefined: none. */
  readonly runDir: string | undefined;
  readonly signal: AbortSignal;
  /** Called at each other state or error. */
  readonly onChange: (report: ShipReport) => void;
}

/** Ships the log of a box to headquarters: one chunk at a time, each behind the one that was acknowledged before. */
export class Shipper {
  readonly #openFeed: () => Feed;
  readonly #headquarters: Headquarters;
  readonly #options: ShipperOptions;
  #backoff = new Backoff();
  #report: ShipReport;
  #statusAt = Number.NEGATIVE_INFINITY;

  constructor(openFeed: () => Feed, headquarters: Headquarters, options: ShipperOptions) {
    this.#openFeed = openFeed;
    this.#headquarters = headquarters;
    this.#options = options;
    const { box, url, runDir } = options;
    const known = { epoch: null, shipped_seq: null, last_ack_at: null };
    const before = shipReport.read(runDir);
    const isSame = before?.box === box && before.url === url;
    this.#report = { ...known, ...(isSame && before), at: '', box, url, state: 'connecting', error: null };
  }

  /** @returns how it ended: stopped, caught up (`once`), or fenced. */
  async run(): Promise<ShipReport> {
    const { signal } = this.#options;
    const stopReports = every(REPORT_EVERY_MS, () => this.#put({}));
    const end = () => setTimeout(() => this.#headquarters.close(), END_MS).unref();
    signal.addEventListener('abort', end, { once: true });
    try {
      for (let isOver = false; !isOver && !signal.aborted; )
        isOver = await this.#session().catch((error) => this.#survive(error));
    } finally {
      stopReports();
      if (!signal.aborted) await this.#tellHeadquarters(true);
      this.#headquarters.close();
      this.#put({});
    }
    return this.#report;
  }

  /** Ships until it has caught up (`once`). Any failure ends it: only headquarters knows what it has. @returns true */
  async #session(): Promise<true> {
    const { once, signal } = this.#options;
    const hq = this.#headquarters;
    await hq.connect();
    const log = await openLog(this.#openFeed());
    const close = () => log.close();
    signal.addEventListener('abort', close);
    try {
      const { name: epoch } = log.head.epochs.at(-1)!;
      if (epoch !== this.#report.epoch) this.#put({ epoch, shipped_seq: null });
      const lastOf = (epoch: string) => hq.last(epoch);
      let { seq, place } = await startCursor(log.head.epochs, lastOf, (chunk) => this.#isOurs(chunk));
      this.#put({ shipped_seq: seq });
      for await (const { lines, isLast } of log.pieces(seq)) {
        const state = isLast ? 'current' : 'behind';
        if (lines.length > 0) {
          // After a failure, its report stays until headquarters has acknowledged something.
          if (!isLast && !this.#backoff.isFailing) this.#put({ state, error: null });
          const last = seqOf(lines.at(-1)!);
          place = await hq.publish(epoch, { after: seq, last, lines }, place);
          seq = last;
          this.#put({ shipped_seq: seq, last_ack_at: new Date().toISOString(), state, error: null });
        } else {
          if (((await hq.last(epoch))?.place ?? 0) !== place) throw new Moved();
          this.#put({ state, error: null });
        }
        this.#backoff = new Backoff();
        if (once && isLast) break;
        void this.#tellHeadquarters();
      }
      return true;
    } finally {
      signal.removeEventListener('abort', close);
      log.close();
    }
  }

  async #isOurs(chunk: Chunk): Promise<boolean> {
    const log = await openLog(this.#openFeed());
    return hasChunk(log, chunk).finally(() => log.close());
  }

  /** Waits before the next try. @returns whether there is none. */
  async #survive(error: unknown): Promise<boolean> {
    const { signal } = this.#options;
    if (signal.aborted) return true;
    if (error instanceof Fenced) {
      const error =
        'Headquarters has events under the name and epoch of this box that are not of this box: another box was cloned from it, or its ' +
        'database was put back without "courtd restore". Find the other box; then run "sudo courtd ship --new-epoch" and "sudo systemctl restart courtd-ship" here.';
      this.#put({ state: 'fenced', error });
      return true;
    }
    if (error instanceof NatsFault) {
      const network = error.kind === 'away' ? NETWORK : '';
      this.#put({
        state: STATE_OF[error.kind],
        error: `${error.message}${network} The box keeps its events.`,
      });
    } else if (error instanceof Moved || error instanceof LogUnavailable) {
      // The shipper asks again, and nobody else need know; but not if asking has not helped.
      const state = error instanceof Moved ? 'behind' : this.#report.state;
      if (this.#backoff.isFailing) this.#put({ state, error: error.message });
    } else throw error;
    void this.#tellHeadquarters();
    await pause(this.#backoff.next(), signal);
    return false;
  }

  #put(changes: Partial<ShipReport>): void {
    const { state, error } = this.#report;
    this.#report = { ...this.#report, ...changes, at: new Date().toISOString() };
    const { runDir, onChange } = this.#options;
    shipReport.write(runDir, this.#report);
    if (state !== this.#report.state || error !== this.#report.error) onChange(this.#report);
  }

  /** Once a minute, and at the end: `status.json` of the daemon, with what the shipper knows better. */
  async #tellHeadquarters(isLast = false): Promise<void> {
    const now = performance.now();
    if (!this.#headquarters.isOpen() || (!isLast && now - this.#statusAt < STATUS_MS)) return;
    this.#statusAt = now;
    const { at: _, ...own } = this.#report;
    const status = statusIn(this.#options.runDir);
    const told = { ...status, ship: { ...(status.ship as object), ...own } };
    // There is another one in a minute.
    await this.#headquarters.tell(JSON.stringify(told)).catch(() => {});
  }
}

function statusIn(runDir: string | undefined): Record<string, unknown> {
  try {
    return runDir === undefined ? {} : membersOf(fs.readFileSync(path.join(runDir, 'status.json'), 'utf8'));
  } catch {
    return {};
  }
}
