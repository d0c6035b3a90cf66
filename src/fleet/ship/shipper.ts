import { pause } from '../../base/pause.ts';
import type { ShipState } from '../../health/shipStatus.ts';
import {
  type EventFeed,
  FeedUnavailable,
  type LogState,
  type Piece,
  type Players,
} from '../feed/eventFeed.ts';
import { boundedReport, type ShipReport } from '../feed/shipNote.ts';
import { CHUNK_LIMITS, eventOf } from '../log/chunk.ts';
import { Backoff } from './backoff.ts';
import { readChunk } from './readChunk.ts';
import { type ChunkSink, SinkError, type SinkErrorKind } from './sink/sink.ts';
import type { Cursor } from './sink/startCursor.ts';

/** How often the feed is told how far it is, at least: a shipper that it has not heard from counts as ended (shipNote.ts). */
const REPORT_MS = 1_000;
const STATUS_MS = 60_000;
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
  /** Absent: as sent. */
  readonly players?: Players | undefined;
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
  /** Events of a chunk: fewer, while one that headquarters does not take is looked for. */
  #most: number = CHUNK_LIMITS.events;
  #cursor: Cursor | undefined;
  /** Events up to here are shipped, or were refused for good: of the cursor's epoch. */
  #leftOut = 0;
  #report: ShipReport;
  /** Of the cursor. */
  #note: string | null = null;
  #askedAt = 0;
  #statusAt = Number.NEGATIVE_INFINITY;
  #telling: Promise<void> = Promise.resolve();

  constructor(feed: EventFeed, sink: ChunkSink, options: ShipperOptions) {
    this.#feed = feed;
    this.#sink = sink;
    this.#options = options;
    const { box, url, players } = options;
    const named = players === 'pseudonym' ? { names_players: false } : {};
    const nothing = {
      epoch: null,
      shipped_seq: null,
      last_ack_at: null,
      error: null,
      left_out: null,
      erased_ms: null,
    };
    this.#report = { box, url, state: 'connecting', running: true, ...nothing, ...named };
  }

  /** @returns how it ended: stopped, caught up (`once`), or fenced. */
  async run(): Promise<ShipReport> {
    const { signal, once } = this.#options;
    await this.#takeOver();
    if (this.#report.state === 'fenced') return this.#report;
    const beat = setInterval(() => void this.#feed.report(this.#report), REPORT_MS);
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
      this.#report = { ...this.#report, running: false };
      await this.#feed.report(this.#report);
      if (!signal.aborted) await this.#telling;
      await this.#sink.close();
    }
    return this.#report;
  }

  /** What an earlier shipper of this place has reported still holds: also that it was fenced, until there is a new epoch. */
  async #takeOver(): Promise<void> {
    const { report, epochs } = await this.#firstState();
    const own = boundedReport(this.#report);
    if (report?.url !== own.url || report.box !== own.box) return;
    const { epoch, shipped_seq, last_ack_at, state, error, left_out = null, erased_ms = null } = report;
    this.#report = { ...this.#report, epoch, shipped_seq, last_ack_at, left_out, erased_ms };
    if (state !== 'fenced' || this.#sink.isSwappable || epoch !== epochs.at(-1)!.name) return;
    this.#report = { ...this.#report, state, error, running: false };
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
    const after = Math.max(seq, this.#leftOut);
    const { once, signal } = this.#options;
    const piece = await readChunk(this.#feed, { after, epoch, most: this.#most, waits: !once }, signal);
    if (piece.epoch !== epoch) {
      // A backup was restored: this is another log.
      [this.#cursor, this.#leftOut] = [undefined, 0];
      return false;
    }
    if (piece.damage !== undefined)
      this.#leaveOut(`${piece.damage} That is not shipped, and the rest goes on.`);
    if (piece.lines.length === 0) {
      if (once) await this.#sink.finish?.();
      this.#backoff.reset();
      this.#tell('current', null);
      this.#tellHeadquarters();
      const isOld = performance.now() - this.#askedAt > ASK_AGAIN_MS;
      if (isOld || !this.#sink.isOpen()) this.#cursor = undefined;
      return true;
    }
    // While it fails, what is wrong stays said until headquarters has acknowledged something.
    if (!piece.isLast && !this.#backoff.isFailing) this.#tell('behind', null);
    try {
      this.#cursor = await this.#sink.send({ ...piece, after: seq }, this.#cursor);
    } catch (error) {
      if (!(error instanceof SinkError) || error.kind !== 'poison') throw error;
      this.#split(piece, error);
      return false;
    }
    await this.#acknowledged(this.#cursor.seq, piece.isLast);
    return false;
  }

  async #resume(): Promise<Cursor> {
    const cursor = await this.#sink.readCursor();
    this.#note = cursor.note ?? this.#note;
    this.#askedAt = performance.now();
    if (cursor.epoch !== this.#report.epoch) {
      this.#leftOut = 0;
      this.#report = { ...this.#report, left_out: null };
    }
    this.#report = {
      ...this.#report,
      epoch: cursor.epoch,
      shipped_seq: Math.max(cursor.seq, this.#leftOut),
    };
    return cursor;
  }

  async #acknowledged(last: number, isLast: boolean): Promise<void> {
    this.#backoff.reset();
    this.#askedAt = performance.now();
    this.#most = Math.min(CHUNK_LIMITS.events, this.#most * 2);
    this.#report = { ...this.#report, shipped_seq: last, last_ack_at: new Date().toISOString() };
    // Before anybody is told: should this process be killed now, the feed knows.
    await this.#feed.report(this.#report);
    this.#tell(isLast ? 'current' : 'behind', null, true);
    this.#tellHeadquarters();
  }

  /** What headquarters never takes is halved until the event is found that is to blame; the rest goes on without it. */
  #split({ lines, last }: Piece, { message }: SinkError): void {
    if (lines.length > 1) {
      this.#most = Math.ceil(lines.length / 2);
      return;
    }
    this.#leftOut = last;
    this.#most = 2;
    const { event_id, session_id } = JSON.parse(eventOf(lines[0]!));
    this.#report = { ...this.#report, shipped_seq: last };
    this.#leaveOut(
      `seq ${last} (event ${event_id} of session ${session_id}) is not shipped: ${message} Only this box has it, and a prune treats it like what is shipped; the rest goes on.`,
    );
  }

  #leaveOut(sentence: string): void {
    if (sentence === this.#report.left_out) return;
    this.#report = { ...this.#report, left_out: sentence };
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
      this.#tellHeadquarters(true);
      return false;
    }
    // It is asked, and nobody else need know; but not where asking has not helped.
    if (kind !== 'moved' || this.#backoff.isFailing) this.#tell(STATE_OF[kind] ?? 'connecting', message);
    if (this.#sink.isOpen()) this.#tellHeadquarters();
    await pause(this.#backoff.next(), this.#options.signal);
    return true;
  }

  #tell(reached: ShipState, problem: string | null, isAck = false): void {
    if (reached === 'current') this.#note = null;
    const unfinished = reached === 'current' ? this.#sink.unfinished : undefined;
    const state = unfinished === undefined ? reached : 'behind';
    const error = problem ?? unfinished ?? this.#note ?? this.#report.left_out;
    const isNew = state !== this.#report.state || error !== this.#report.error;
    const { erasedMs = this.#report.erased_ms } = this.#sink;
    this.#report = { ...this.#report, state, error, names_erased: error === unfinished, erased_ms: erasedMs };
    if (isNew || isAck) this.#options.onReport(this.#report, isNew);
    if (isNew) void this.#feed.report(this.#report);
  }

  /** Once a minute, and at the end where this box is fenced: nobody else there would know why it fell silent. */
  #tellHeadquarters(isLast = false): void {
    if (!isLast && performance.now() - this.#statusAt < STATUS_MS) return;
    this.#statusAt = performance.now();
    // There is another one in a minute.
    this.#telling = this.#sink.tellStatus(() => this.#statusMessage()).catch(() => {});
  }

  /** The message of design 8. */
  async #statusMessage(): Promise<object> {
    await this.#feed.report(this.#report);
    const status = await this.#feed.status();
    const { box, epoch, url, state, shipped_seq, last_ack_at, error } = this.#report;
    return {
      ship: { ...status?.ship, box, epoch, url, state, shipped_seq, last_ack_at, error },
      problems: status?.problems ?? [],
    };
  }
}
