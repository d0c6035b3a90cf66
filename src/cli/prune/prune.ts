import readline from 'node:readline/promises';
import type { Database } from 'better-sqlite3';
import { RESERVE_BYTES } from '../../base/limits.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { readShipView } from '../../ship/feed/shipStatus.ts';
import { shipSettingsOf } from '../../ship/settings.ts';
import { hasJustJumped, readMark } from '../../store/directory/clockMark.ts';
import { lockPrune } from '../../store/directory/directoryLock.ts';
import type { PruneSelection } from '../../store/retention/expiredEvents.ts';
import { countExpired, type Pruned, pruneEvents } from '../../store/retention/prune.ts';
import { failureKind } from '../../store/sqlite/errors.ts';
import { type DataOption, withDatabase } from '../options/withDatabase.ts';
import { counted, isoTime, type JsonOption, Progress, printJson, say } from '../terminal/output.ts';
import { bytesFor } from '../terminal/units.ts';

export interface PruneOptions extends DataOption, JsonOption {
  /** Seconds. */
  readonly olderThan: number;
  readonly type?: string;
  readonly dryRun?: boolean;
  /** Deletes without asking, as the nightly unit does. */
  readonly yes?: boolean;
  /** Seconds for which events that have not been shipped yet are kept. */
  readonly shipHold: number;
}

export async function prune(options: PruneOptions): Promise<void> {
  const nowMs = Date.now();
  const beforeMs = nowMs - options.olderThan * 1000;
  const type = options.type === undefined ? {} : { type: options.type };
  const { events, sessions, bytes, held } = await withDatabase(options, async (db) => {
    const which = { beforeMs, nowMs, ...type, ...(await holdOf(db, options, nowMs)) };
    if (options.dryRun) return { ...countExpired(db, which), bytes: 0 };
    if (options.yes) refuseJumpedClock(options.data, nowMs);
    else await confirm(db, which);
    return deleteOld(db, which, options);
  });
  if (options.json) {
    const before = isoTime(beforeMs);
    return printJson({
      dry_run: options.dryRun ?? false,
      received_before: before,
      events,
      sessions,
      bytes,
      held,
    });
  }
  const kind = options.type === undefined ? 'event' : `${options.type} event`;
  const what = `${counted(events, kind)} of ${counted(sessions, 'session')}`;
  const when = `received before ${isoTime(beforeMs)}`;
  if (held > 0) {
    say(
      `${counted(held, 'event')} of that age stay, because they have not been shipped yet: for ${options.shipHold / 86_400} days at ` +
        'most (COURTD_SHIP_HOLD). "courtd ship status" says how far shipping is.',
    );
  }
  if (options.dryRun) return say(`${what}, ${when}, would be deleted.`);
  say(`Deleted ${what}, ${when}; ${bytesFor(bytes)} given back to the file system.`);
}

/** Keeps events until they are shipped, where events are shipped from here at all. */
async function holdOf(
  db: Database,
  { data, shipHold }: PruneOptions,
  nowMs: number,
): Promise<Pick<PruneSelection, 'hold'>> {
  const { isSetUp, shipped_seq } = await readShipView(data, db, shipSettingsOf(process.env));
  return isSetUp ? { hold: { afterSeq: shipped_seq ?? 0, beforeMs: nowMs - shipHold * 1_000 } } : {};
}

async function deleteOld(db: Database, which: PruneSelection, { data }: DataOption): Promise<Pruned> {
  const progress = new Progress();
  let isWaiting = false;
  const lock = lockPrune(data);
  try {
    return await pruneEvents(db, which, (doing, done) => {
      if (doing === 'reader' && !isWaiting) say(WAITING);
      isWaiting = doing === 'reader';
      if (doing !== 'reader') progress.show(() => PROGRESS[doing](done));
    });
  } catch (error) {
    if (failureKind(error) !== 'full') throw error;
    throw new OperatorError(
      `The disk of ${data} is full, and a prune needs some free space to start with: free ${bytesFor(2 * RESERVE_BYTES)} or more on it, ` +
        'and try again.',
    );
  } finally {
    progress.clear();
    lock.close();
  }
}

const WAITING =
  'Waiting for another program to finish reading the database. You may interrupt this prune; the next one resumes it.';

const PROGRESS = {
  events: (done: number) => `${done} events deleted`,
  keys: (done: number) => `${done} keys deleted`,
  pages: (done: number) => `${bytesFor(done)} given back`,
} as const;

/** With --yes nobody checks the clock, and one that is ahead would make every event look old. @throws {OperatorError} */
function refuseJumpedClock(data: string, nowMs: number): void {
  const mark = readMark(data);
  if (mark === undefined || !hasJustJumped(mark, nowMs)) return;
  throw new OperatorError(
    `The clock says ${isoTime(nowMs)}. It has jumped by more than a day, or the box was off for that long, so it is not trusted for a day: ` +
      'nothing was deleted. If it is right, run this without --yes.',
  );
}

/** Asks before deleting more than half of all events. @throws {OperatorError} unless the answer is yes. */
async function confirm(db: Database, which: PruneSelection): Promise<void> {
  const { events, of } = countExpired(db, which);
  if (2 * events <= of) return;
  const what = `${events} of ${of} events, more than half, would be deleted`;
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    throw new OperatorError(`${what}: nothing was deleted. If that is right, repeat the command with --yes.`);
  }
  const terminal = readline.createInterface({ input: process.stdin, output: process.stderr });
  let answer = '';
  try {
    answer = await terminal.question(`${what}. Delete them? [y/N] `);
  } catch (error) {
    // Ctrl-C or Ctrl-D, which mean no.
    if ((error as Error).name !== 'AbortError') throw error;
    say('');
  } finally {
    terminal.close();
  }
  if (!/^y(es)?$/i.test(answer.trim())) throw new OperatorError('Nothing was deleted.');
}
