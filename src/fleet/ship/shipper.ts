import fs from 'node:fs';
import path from 'node:path';
import { membersOf } from '../../base/json.ts';
import { pause } from '../../base/pause.ts';
import type { ShipState } from '../../health/shipStatus.ts';
import type { StoredChunk } from '../log/chunk.ts';
import { NatsFault } from '../nats/faults.ts';
import { Backoff } from './backoff.ts';
import { BoxLog, type Feed, LogUnavailable } from './boxLog.ts';
import { type Cursor, Fenced, hasChunk, startCursor } from './cursor.ts';
import { type Headquarters, Moved } from './headquarters.ts';
import { REPORT_EVERY_MS, readReport, type ShipReport, writeReport } from './report.ts';

/** A chunk is sent when it is full, or when its first event has waited this long. */
const GATHER_MS = 2_000;
/** While nothing comes: whether the connection still is one, and nobody else ships under this name. */
const ASK_AGAIN_MS = 60_000;
const STATUS_MS = 60_000;
/** How long an answer that is under way is waited for when the shipper is to end. */
const END_MS = 4_000;

const STATE_OF = { away: 'connecting', busy: 'behind', refused: 'refused' } as const;

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
  readonly #backoff = new Backoff();
  #report: ShipReport;
  #statusAt = Number.NEGATIVE_INFINITY;

  constructor(openFeed: () => Feed, headquarters: Headquarters, options: ShipperOptions) {
    this.#openFeed = openFeed;
    this.#headquarters = headquarters;
    this.#options = options;
    const { box, url, runDir } = options;
    const at = new Date().toISOString();
    const first = {
      at,
      box,
      url,
      epoch: null,
      state: 'connecting',
      shipped_seq: null,
      last_ack_at: null,
      error: null,
    } as const;
    const before = readReport(runDir);
    const isSame = before?.box === box && before.url === url;
    this.#report = isSame
      ? { ...first, epoch: before.epoch, shipped_seq: before.shipped_seq, last_ack_at: before.last_ack_at }
      : first;
  }

  /** @returns how it ended: stopped, caught up (`once`), or fenced. */
  async run(): Promise<ShipReport> {
    const { signal } = this.#options;
    this.#write();
    const beat = setInterval(() => this.#write(), REPORT_EVERY_MS);
    const end = () => setTimeout(() => this.#headquarters.close(), END_MS).unref();
    signal.addEventListener('abort', end, { once: true });
    try {
      while (!signal.aborted) {
        try {
          await this.#session();
          break;
        } catch (error) {
          if (signal.aborted || !(await this.#survive(error))) break;
        }
      }
    } finally {
      clearInterval(beat);
      if (!signal.aborted) await this.#tellHeadquarters(true);
      this.#headquarters.close();
      this.#write();
    }
    return this.#report;
  }

  /** Ships until the signal, or until it has caught up (`once`). Whatever goes wrong ends it: only headquarters knows what it has. */
  async #session(): Promise<void> {
    const { once, signal } = this.#options;
    const hq = this.#headquarters;
    await hq.connect();
    const log = await BoxLog.open(this.#openFeed());
    try {
      const { name: epoch } = log.head.epochs.at(-1)!;
      if (epoch !== this.#report.epoch) this.#put({ epoch, shipped_seq: null });
      let cursor = await startCursor(
        log.head.epochs,
        (epoch) => hq.last(epoch),
        (chunk) => this.#isOurs(chunk),
      );
      this.#put({ shipped_seq: cursor.seq });
      log.start(cursor.seq);
      while (!signal.aborted) {
        const piece = await log.next(once ? 0 : GATHER_MS, once ? 0 : ASK_AGAIN_MS, signal);
        if (piece === undefined) {
          if (signal.aborted) return;
          this.#backoff.reset();
          this.#tell('current', null);
          if (once) return;
          await this.#askAgain(cursor);
          continue;
        }
        // After a failure, its report stays until headquarters has acknowledged something.
        if (!piece.isLast && !this.#backoff.isFailing) this.#tell('behind', null);
        const place = await hq.publish(epoch, { ...piece, after: cursor.seq }, cursor.place ?? 0);
        cursor = { epoch, seq: piece.last, place };
        this.#backoff.reset();
        this.#put({ shipped_seq: piece.last, last_ack_at: new Date().toISOString() });
        this.#tell(piece.isLast ? 'current' : 'behind', null);
        void this.#tellHeadquarters();
      }
    } finally {
      log.close();
    }
  }

  async #askAgain({ epoch, place }: Cursor): Promise<void> {
    const last = await this.#headquarters.last(epoch);
    if (last?.place !== place) throw new Moved();
    void this.#tellHeadquarters();
  }

  async #isOurs(chunk: StoredChunk): Promise<boolean> {
    const log = await BoxLog.open(this.#openFeed());
    try {
      return await hasChunk(log, chunk, this.#options.signal);
    } finally {
      log.close();
    }
  }

  /** @returns whether to try again. */
  async #survive(error: unknown): Promise<boolean> {
    if (error instanceof Fenced) {
      this.#tell(
        'fenced',
        'Headquarters has events under the name and epoch of this box that are not of this box: another box was cloned from it, or its ' +
          'database was put back without "courtd restore". Find the other box; then run "sudo courtd ship --new-epoch" and "sudo systemctl restart courtd-ship" here.',
      );
      return false;
    }
    // The shipper asks, and nobody else need know; but not if asking has not helped.
    if (error instanceof Moved) {
      if (this.#backoff.isFailing)
        this.#tell(
          'behind',
          'Headquarters has another last message than it reports. One of its servers is late, or another box ships under this name: check that the name is unique.',
        );
    } else if (error instanceof NatsFault) {
      this.#tell(STATE_OF[error.kind], `${error.message} The box keeps its events.`);
    } else if (error instanceof LogUnavailable) {
      if (this.#backoff.isFailing) this.#tell(this.#report.state, error.message);
    } else throw error;
    void this.#tellHeadquarters();
    await pause(this.#backoff.next(), this.#options.signal);
    return true;
  }

  #tell(state: ShipState, error: string | null): void {
    const isNew = state !== this.#report.state || error !== this.#report.error;
    this.#put({ state, error });
    if (isNew) this.#options.onChange(this.#report);
  }

  #put(changes: Partial<ShipReport>): void {
    this.#report = { ...this.#report, ...changes };
    this.#write();
  }

  #write(): void {
    this.#report = { ...this.#report, at: new Date().toISOString() };
    writeReport(this.#options.runDir, this.#report);
  }

  /** Once a minute, and at the end. */
  async #tellHeadquarters(isLast = false): Promise<void> {
    const now = performance.now();
    if (!this.#headquarters.isOpen() || (!isLast && now - this.#statusAt < STATUS_MS)) return;
    this.#statusAt = now;
    // There is another one in a minute.
    await this.#headquarters.tell(JSON.stringify(this.#status())).catch(() => {});
  }

  /** `status.json` of the daemon, with what the shipper knows better. */
  #status(): object {
    const { box, epoch, url, state, shipped_seq, last_ack_at, error } = this.#report;
    const { runDir } = this.#options;
    const status = runDir === undefined ? {} : readStatus(path.join(runDir, 'status.json'));
    return {
      ...status,
      ship: { ...(status.ship ?? {}), box, epoch, url, state, shipped_seq, last_ack_at, error },
    };
  }
}

function readStatus(file: string): Record<string, unknown> & { readonly ship?: object } {
  try {
    return membersOf(fs.readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}
