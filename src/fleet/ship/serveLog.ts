import { setTimeout as sleep } from 'node:timers/promises';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { COMMAND_BUSY_MS, FOLLOW_POLL_MS } from '../../base/limits.ts';
import { UsageError } from '../../base/operatorError.ts';
import { pause } from '../../base/pause.ts';
import { arrivalToJson } from '../../protocol/event.ts';
import { ArrivalLog, TemporarilyUnreadable } from '../../store/arrivalLog.ts';
import { secretOf } from '../../store/erasure/ledger.ts';
import { LEARNT_EVENTS, Pseudonyms } from '../../store/erasure/pseudonyms.ts';
import type { Epoch } from '../../store/layout/epochs.ts';
import { withDatabase } from '../../store/open/withDatabase.ts';
import { CHUNK_LIMITS } from '../log/chunk.ts';

/** The first line of a feed. */
export interface LogHead {
  /** The current one is the last. */
  readonly epochs: readonly Epoch[];
  /** The highest seq that was ever given; 0 without events. */
  readonly newest_seq: number;
  /** The highest seq whose event was pruned; 0: none. */
  readonly pruned_seq: number;
}

/** Headquarters gets players as the cameras name them, or under pseudonyms. */
export const PLAYERS = ['as-sent', 'pseudonym'] as const;
export type Players = (typeof PLAYERS)[number];

/** @throws {UsageError} if COURTD_SHIP_PLAYERS is something else. */
export function playersSetting({ COURTD_SHIP_PLAYERS: value = 'as-sent' }: NodeJS.ProcessEnv): Players {
  const players = PLAYERS.find((one) => one === value);
  if (players === undefined)
    throw new UsageError(`COURTD_SHIP_PLAYERS="${value}" is unknown. Set one of ${PLAYERS.join(', ')}.`);
  return players;
}

/**
 * What `courtd tail --json --follow --after -` writes for a shipper: a LogHead, then the lines of `tail --json` behind the seq that
 * the shipper answers, and an empty line whenever there are no more. It ends if a backup is restored: that is another log.
 * @param after the seq; 0: from the beginning.
 * @param onDamage is called with a sentence about damaged events, which are left out.
 */
export async function* serveLog(
  directory: DataDirectory,
  players: Players,
  after: () => Promise<number>,
  onDamage: (sentence: string) => void,
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  const secret = await withDatabase({ data: directory }, secretOf);
  const pseudonyms = players === 'pseudonym' ? new Pseudonyms(secret) : undefined;
  const log = new ArrivalLog(directory);
  try {
    const { epochs, lastSeq, prunedSeq } = await patient(() => log.after(Number.MAX_SAFE_INTEGER, 1));
    const head: LogHead = { epochs, newest_seq: lastSeq, pruned_seq: prunedSeq };
    yield [`${JSON.stringify(head)}\n`];
    let seq = await after();
    for (let known = Math.max(0, seq - LEARNT_EVENTS); pseudonyms !== undefined && known < seq; ) {
      const { events, upTo, restored } = await patient(() => log.after(known, CHUNK_LIMITS.events));
      if (restored !== undefined) return;
      pseudonyms.learn(events);
      known = Math.max(upTo, known + 1);
    }
    while (!signal.aborted) {
      const arrivals = await patient(() => log.after(seq, CHUNK_LIMITS.events));
      if (arrivals.restored !== undefined) return;
      const events = pseudonyms?.under(arrivals.events) ?? arrivals.events;
      if (arrivals.damage.isFound) onDamage(`${arrivals.damage}`);
      const lines = events.filter((one) => one.seq > seq).map(arrivalToJson);
      yield arrivals.isLast ? [...lines, '\n'] : lines;
      seq = arrivals.upTo;
      if (!arrivals.isLast) continue;
      do await pause(FOLLOW_POLL_MS, signal);
      while (!signal.aborted && !log.mayHaveNew());
    }
  } finally {
    log.close();
  }
}

/** Waits for a database that is locked, for a while. */
async function patient<Result>(work: () => Result): Promise<Result> {
  for (const giveUpAt = performance.now() + COMMAND_BUSY_MS; ; await sleep(FOLLOW_POLL_MS)) {
    try {
      return work();
    } catch (error) {
      const isPassing = error instanceof TemporarilyUnreadable && error.isLocked;
      if (!isPassing || performance.now() > giveUpAt) throw error;
    }
  }
}
