import { pause } from '../../base/pause.ts';
import type { ShipState } from '../../health/shipStatus.ts';
import { CHUNK_LIMITS } from '../log/chunk.ts';
import { Backoff } from '../ship/backoff.ts';
import type { ShipReport } from '../ship/report.ts';
import type { CopyCursor } from './copyCursor.ts';
import { type EventFeed, FeedUnavailable, type LogState, type Piece } from './eventFeed.ts';
import { type ChunkSink, SinkError, type SinkErrorKind } from './sink.ts';

/** How often the feed is told how far it is, at least: a shipper that it has not heard from counts as ended (report.ts). */
const REPORT_MS = 1_000;
/** A chunk is written when it is full, or when its first event has waited this long. */
const GATHER_MS = 2_000;
const POLL_MS = 500;
/** While nothing comes: whether the connection still is one, and nobody else ships under this name. */
const ASK_AGAIN_MS = 60_000;
/** How long an answer is waited for that is under way when the shipper is to end. */
const END_MS = 4_000;
/** While the feed is away: its service is restarted, say. */
const FEED_RETRY_MS = 1_000;

/** What an error of the sink means for the state; any other is `connecting`. */
const STATE_OF: Partial<Record<SinkErrorKind, ShipState>> = {
  refused: 'refused',
  waiting: 'behind',
  moved: 'behind',
};

interface ShipperOptions {
  readonly box: string;
  readonly url: string;
  /** Ends when it has caught up. */
  readonly once: boolean;
  readonly signal: AbortSignal;
  /** Called with each acknowledgement, and with each state and error that is another one than before (`isChange`). */
  readonly onReport: (report: ShipReport, isChange: boolean) => void;
  /** An event that headquarters refuses for good, or that is damaged in the database, was left out. */
  readonly onLeftOut: (sentence: string) => void;
}

/** Carries events from a feed to a sink: one chunk at a time, each behind the one that was acknowledged before. */
export class Shipper {
  readonly #feed: EventFeed;
  readonly #sink: ChunkSink;
  readonly #options: ShipperOptions;
  readonly #backoff = new Backoff();
  #cursor: CopyCursor | undefined;
  /** Events up to here are shipped, or were refused for good: of the cursor's epoch. */
  #report: ShipReport;
  /** Of the cursor. */
  #note: string | null = null;
  #askedAt = 0;
  #leftOutSaid: string | null = null;

  constructor(feed: EventFeed, sink: ChunkSink, options: ShipperOptions) {
    this.#feed = feed;
    this.#sink = sink;
    this.#options = options;
    const { box, url } = options;
    const nothing = {
      at: new Date().toISOString(),
      epoch: null,
      shipped_seq: null,
      last_ack_at: null,
      error: null,
      erased_ms: null,
    };
    this.#report = { box, url, state: 'connecting', ...nothing };
  }

  /** @returns how it ended: stopped, caught up (`once`), or fenced. */
  async run(): Promise<ShipReport> {
    const { signal, once } = this.#options;
    await this.#takeOver();
    if (this.#report.state === 'fenced') return this.#report;
    const beat = setInterval(() => void this.#write(), REPORT_MS);
    const end = () => setTimeout(() => this.#sink.close(), END_MS).unref();
    signal.addEventListener('abort', end, { once: true });
    try {
      while (!signal.aborted) {
        try {
          if ((await this.#step()) && once) break;
        } catch (error) {
          if (signal.aborted) break;
          if (!(await this.#survive(error))) break;
        }
      }
    } finally {
      clearInterval(beat);
      await this.#write();
      await this.#sink.close();
    }
    return this.#report;
  }

  /** What an earlier shipper of this place has reported still holds: also that it was fenced, until there is a new epoch. */
  async #takeOver(): Promise<void> {
    const { report, epochs } = await this.#firstState();
    if (report?.url !== this.#report.url || report.box !== this.#report.box) return;
    const { epoch, shipped_seq, last_ack_at, state, error, erased_ms = null } = report;
    this.#report = { ...this.#report, epoch, shipped_seq, last_ack_at, erased_ms };
    if (state !== 'fenced' || this.#sink.isSwappable || epoch !== epochs.at(-1)!.name) return;
    this.#report = { ...this.#report, state, error };
    this.#options.onReport(this.#report, true);
  }

  async #firstState(): Promise<Pick<LogState, 'report' | 'epochs'>> {
    while (!this.#options.signal.aborted) {
      try {
        return await this.#feed.state();
      } catch (error) {
        if (!(error instanceof FeedUnavailable)) throw error;
        this.#tell('connecting', error.message);
        await pause(FEED_RETRY_MS, this.#options.signal);
      }
    }
    return { report: undefined, epochs: [] };
  }

  /** Ships the next chunk. @returns whether there is none. */
  async #step(): Promise<boolean> {
    this.#cursor ??= await this.#resume();
    const { epoch, seq } = this.#cursor;
    const { once } = this.#options;
    const piece = await this.#read(seq, epoch);
    if (piece.epoch !== epoch) {
      // A backup was restored: this is another log.
      this.#cursor = undefined;
      return false;
    }
    if (piece.damage !== undefined)
      this.#leaveOut(`${piece.damage} That is not shipped, and the rest goes on.`);
    if (piece.lines.length === 0) {
      if (once) await this.#sink.finish?.();
      this.#backoff.reset();
      this.#tell('current', null);
      const isOld = performance.now() - this.#askedAt > ASK_AGAIN_MS;
      if (isOld || !this.#sink.isOpen()) this.#cursor = undefined;
      return true;
    }
    // While it fails, what is wrong stays said until headquarters has acknowledged something.
    if (!piece.isLast && !this.#backoff.isFailing) this.#tell('behind', null);
    this.#cursor = await this.#sink.send({ ...piece, after: seq }, this.#cursor);
    await this.#acknowledged(this.#cursor.seq, piece.isLast);
    return false;
  }

  /** Waits for a chunk to fill, unless `once`. */
  async #read(after: number, epoch: string): Promise<Piece> {
    const { once, signal } = this.#options;
    let piece = await this.#feed.next(after, CHUNK_LIMITS.events);
    if (once || piece.epoch !== epoch) return piece;
    for (
      let left = GATHER_MS;
      left > 0 && piece.isLast && piece.lines.length < CHUNK_LIMITS.events;
      left -= POLL_MS
    ) {
      await pause(POLL_MS, signal);
      if (signal.aborted) break;
      piece = await this.#feed.next(after, CHUNK_LIMITS.events);
      if (piece.lines.length === 0) break;
    }
    return piece;
  }

  async #resume(): Promise<CopyCursor> {
    const cursor = await this.#sink.readCursor();
    this.#note = cursor.note ?? this.#note;
    this.#askedAt = performance.now();
    if (cursor.epoch !== this.#report.epoch) {
      this.#leftOutSaid = null;
    }
    this.#report = {
      ...this.#report,
      epoch: cursor.epoch,
      shipped_seq: cursor.seq,
    };
    return cursor;
  }

  async #acknowledged(last: number, isLast: boolean): Promise<void> {
    this.#backoff.reset();
    this.#askedAt = performance.now();
    this.#report = { ...this.#report, shipped_seq: last, last_ack_at: new Date().toISOString() };
    // Before anybody is told: should this process be killed now, the feed knows.
    await this.#write();
    this.#tell(isLast ? 'current' : 'behind', null, true);
  }

  #leaveOut(sentence: string): void {
    if (sentence === this.#leftOutSaid) return;
    this.#leftOutSaid = sentence;
    this.#options.onLeftOut(sentence);
  }

  /** @returns whether to go on. */
  async #survive(error: unknown): Promise<boolean> {
    if (error instanceof FeedUnavailable) {
      this.#tell(this.#report.state, error.message);
      await pause(FEED_RETRY_MS, this.#options.signal);
      return true;
    }
    if (!(error instanceof SinkError)) throw error;
    const { kind, message } = error;
    // Nothing but an acknowledgement says what headquarters has: ask it.
    this.#cursor = undefined;
    if (kind === 'fenced') {
      const { epochs } = await this.#firstState();
      this.#report = { ...this.#report, epoch: epochs.at(-1)!.name };
      this.#tell('fenced', message);
      return false;
    }
    // It is asked, and nobody else need know; but not where asking has not helped.
    if (kind !== 'moved' || this.#backoff.isFailing) this.#tell(STATE_OF[kind] ?? 'connecting', message);
    await pause(this.#backoff.next(), this.#options.signal);
    return true;
  }

  #tell(reached: ShipState, problem: string | null, isAck = false): void {
    if (reached === 'current') this.#note = null;
    const unfinished = reached === 'current' ? this.#sink.unfinished : undefined;
    const state = unfinished === undefined ? reached : 'behind';
    const error = problem ?? unfinished ?? this.#note ?? this.#leftOutSaid;
    const isNew = state !== this.#report.state || error !== this.#report.error;
    const erasedMs = this.#sink.erasedMs ?? this.#report.erased_ms ?? null;
    this.#report = { ...this.#report, state, error, names_erased: error === unfinished, erased_ms: erasedMs };
    if (isNew || isAck) this.#options.onReport(this.#report, isNew);
    if (isNew) void this.#write();
  }

  #write(): Promise<void> {
    this.#report = { ...this.#report, at: new Date().toISOString() };
    return this.#feed.report(this.#report);
  }
}
