import { OperatorError } from '../../base/operatorError.ts';
import type { Epoch } from '../../store/layout/epochs.ts';
import type { CopiedToken } from '../../store/tokens/tokens.ts';
import type { ShipReport } from '../ship/report.ts';
import type { CopiedErasure } from './boxFile.ts';

export interface LogState {
  /** The current one is the last. */
  readonly epochs: readonly Epoch[];
  /** The highest seq that was ever given; 0 without events. */
  readonly lastSeq: number;
  /** The highest seq whose event was pruned; 0: none. */
  readonly prunedSeq: number;
  /** The latest report about this log; undefined without one. */
  readonly report: ShipReport | undefined;
}

/** The next events of the log, in the order of arrival. */
export interface Piece {
  /** The name of the epoch that their seqs are of. */
  readonly epoch: string;
  /** Each as `tail --json` writes it, with its line end. */
  readonly lines: readonly string[];
  /** The seq of the last of them; without any, what was asked for. */
  readonly last: number;
  /** Whether no later event is stored. */
  readonly isLast: boolean;
  /** What is damaged in the database among or beside these events, and left out, in a sentence; absent: nothing. */
  readonly damage?: string;
}

/** What a copy of the box has beside its log. */
export interface BoxIdentity {
  /** The only one that it takes events of, as the settings have it; null: any. */
  readonly venue: string | null;
  /** No event with a lower one is stored; 0: not known. */
  readonly oldestSeq: number;
  /** Null where they are not given out: they are for a copy, and not for a shipper that has the network. */
  readonly tokens: readonly CopiedToken[] | null;
  /** Those that are finished; none where tokens are not given out. */
  readonly erasures: readonly CopiedErasure[];
}

/** What is wrong with pseudonyms in a copy. */
export const COPY_HAS_PLAYERS =
  'COURTD_SHIP_PLAYERS=pseudonym is for headquarters: a copy in a directory makes a lost box anew, and has its players as they are. Take it out of the settings, or ship to headquarters.';

/** Where a shipper reads events and reports its progress: the database, or the feed of another process. */
export interface EventFeed {
  /** @throws {FeedUnavailable} where it cannot be read now, and may be again. */
  state(): Promise<LogState>;
  /** @param after a seq; 0: from the beginning. @param most events. @throws {FeedUnavailable} */
  next(after: number, most: number): Promise<Piece>;
  /** Never fails: a report that is lost is followed by another. */
  report(report: ShipReport): Promise<void>;
  /** @throws {FeedUnavailable} */
  identity(): Promise<BoxIdentity>;
  close(): Promise<void>;
}

/** It may be readable again in a moment: a shipper waits for it, and a command that has just begun says so. */
export class FeedUnavailable extends OperatorError {}
