import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { DataDirectory } from '../../base/dataDirectory.ts';
import { RESERVE_BYTES } from '../../base/limits.ts';
import { checkpoint } from '../db/checkpointer.ts';
import { fillReserve, freeBytes, releaseReserve } from '../db/diskReserve.ts';
import { ALONE_STEP, CHECKPOINT_FRAMES, SERVING_STEP } from '../db/sizes.ts';
import { failureKind } from '../db/sqliteErrors.ts';
import type { Appender } from '../write/appender.ts';
import type { GroupCommit } from '../write/groupCommit.ts';

/** Attempts at one transaction on a locked database or a full disk, and the pause between two. */
const RETRY = { attempts: 100, pauseMs: 50 } as const;
const READER_WAIT_MS = 100;
/** Free pages that a transaction returns to a full disk: fewer bytes than the reserve. */
const RETURNED_PAGES = 250;

/** What they need of the writer of events, which commits them between its groups. */
export type StepWriter = Pick<GroupCommit, 'step' | 'isServing' | 'schedule' | 'truncateWal' | 'holds'> & {
  readonly appender: Pick<Appender, 'forget'>;
};

/** What a prune or an erasure runs with. */
export interface StepContext {
  /** The connection of the writer. */
  readonly db: Database;
  readonly writer: StepWriter;
  readonly on: StepProgress;
  /** Ends it at its next pause, with an AbortError. */
  readonly signal?: AbortSignal;
}

/** Called with how many events are done. */
export type StepProgress = (events: number) => void;

/** A transaction, which may be repeated. It may change nothing. */
export type Step = () => void;

/** How much a step may change now. */
export function paceOf({ isServing }: Pick<StepWriter, 'isServing'>): { rows: number; pauseMs: number } {
  return isServing ? SERVING_STEP : ALONE_STEP;
}

/**
 * Runs the short transactions of a prune or an erasure while events come in: with a pause after each, behind long readers, and on a full
 * disk. To that it returns free pages, until there is room for the reserve and as much again.
 * @throws {SqliteError} after the last attempt, and an AbortError.
 */
export async function runSteps({ db, writer, signal }: StepContext, steps: Iterable<Step>): Promise<void> {
  const directory = DataDirectory.of(db.name);
  const rest = (ms: number) => sleep(ms, undefined, { signal });
  let isDiskFull = false;
  const commit = async (step: Step) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return writer.step(step);
      } catch (error) {
        const kind = failureKind(error);
        if ((kind !== 'busy' && kind !== 'full') || attempt === RETRY.attempts) throw error;
        if (kind === 'full') {
          // What it frees is for its own commits.
          writer.holds.add('full');
          isDiskFull = true;
          releaseReserve(directory);
          // A reader may keep it from being truncated, until the next attempt.
          writer.truncateWal();
        }
        await rest(RETRY.pauseMs);
      }
    }
  };
  try {
    for (const step of steps) {
      // While a reader stays open, the WAL would grow with each step until events are rejected. Without one a checkpoint keeps up.
      for (; checkpoint(db, 'NOOP').left >= 2 * CHECKPOINT_FRAMES; await rest(READER_WAIT_MS))
        writer.schedule();
      await commit(step);
      await rest(paceOf(writer).pauseMs);
    }
    while (isDiskFull && freeBytes(directory) < 2 * RESERVE_BYTES) {
      if (db.pragma('freelist_count', { simple: true }) === 0) break;
      // Not `simple`: the pragma returns a row for each page.
      await commit(() => void db.pragma(`incremental_vacuum(${RETURNED_PAGES})`));
      writer.truncateWal();
    }
  } finally {
    if (isDiskFull) {
      writer.truncateWal();
      fillReserve(directory);
      writer.holds.delete('full');
    }
  }
}
