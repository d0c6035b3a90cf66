import type { Database } from 'better-sqlite3';
import { OperatorError } from '../base/operatorError.ts';
import type { Log } from '../host/log.ts';
import { failureKind, sqliteCode } from '../store/db/sqliteErrors.ts';
import { arrivalsAfter } from '../store/read/arrivals.ts';
import type { GroupCommitEvents } from '../store/write/groupCommit.ts';
import { logProblem, problem } from './problems.ts';

/** In a millisecond, with each `status.json`: a million a day. */
const VERIFIED_EVENTS = 200;

/** What the daemon's store reports: to the log, and for later questions. */
export class StoreWatch {
  /** Events are rejected until there is room. */
  isFull = false;
  /** A part of the database was found damaged. */
  isDamaged = false;
  #verifiedUpTo = 0;

  /** Verifies the next events of the log, in a round that stays at damage until it is healed or deleted. @returns whether there is any. */
  findsDamage(db: Database): boolean {
    const { damage, isLast, upTo } = arrivalsAfter(db, this.#verifiedUpTo, VERIFIED_EVENTS);
    if (!damage.isFound) this.#verifiedUpTo = isLast ? 0 : upTo;
    return damage.isFound;
  }

  /** @returns what the store calls. After `fatal` the process ends. */
  events(log: Log): GroupCommitEvents {
    const { logger } = log;
    return {
      full: (error) => {
        this.isFull = true;
        logProblem(logger, problem('disk_full'), { code: sqliteCode(error) }, 'error');
      },
      healed: () => {
        this.isFull = false;
        logger.info('there is room on the disk again: events are stored');
      },
      damaged: (error) => {
        if (!this.isDamaged) logProblem(logger, problem('damage'), { code: sqliteCode(error) }, 'error');
        this.isDamaged = true;
      },
      unexpected: (err) => logger.error({ err }, BUG),
      fatal: (error) => die(log, error, failureKind(error) === 'damaged' ? DAMAGED : DISK_FAILED),
    };
  }
}

const BUG = 'a bug in courtd: please report it';

const DISK_FAILED =
  'the disk failed to read or write, so nothing can be guaranteed any more: check the disk, and start courtd again';
const DAMAGED =
  'the database is damaged, or the disk failed, so nothing can be guaranteed any more: check the disk, and start courtd again; ' +
  'if that does not help, keep a copy of the database and restore a backup';

/** Ends the process for an error that nobody has caught. */
export function dieOfBug(log: Log, error: unknown): void {
  die(log, error, BUG);
}

let isDying = false;

/**
 * Logs why, and exits with status 1. The database is not closed: after a failed write or fsync, nothing that closing would write
 * can be trusted. Further failures are not logged.
 */
function die({ logger, exit }: Log, error: unknown, message: string): void {
  if (isDying) return;
  isDying = true;
  if (error instanceof OperatorError) logger.fatal({ reason: error.message }, 'the daemon cannot continue');
  else logger.fatal({ err: error, code: sqliteCode(error) }, message);
  // At the end of the turn: requests in progress are still answered 503.
  setImmediate(() => exit(1));
}
