import type { DataDirectory } from '../../base/dataDirectory.ts';
import { FOLLOW_POLL_MS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { arrivalToJson } from '../../protocol/courtEvent.ts';
import type { Epoch } from '../../store/db/epochs.ts';
import { withDatabase } from '../../store/db/openDatabase.ts';
import { ArrivalLog } from '../../store/read/arrivalLog.ts';
import { secretOf } from '../../store/write/ledger.ts';
import { CHUNK_LIMITS } from '../log/chunk.ts';
import { LEARNT_EVENTS, Pseudonyms } from './pseudonyms.ts';
import type { Players } from './settings.ts';

/** The first line of a feed. */
export interface LogHead {
  /** The current one is the last. */
  readonly epochs: readonly Epoch[];
  /** The highest seq that was ever given; 0 without events. */
  readonly newest_seq: number;
  /** The highest seq whose event was pruned; 0: none. */
  readonly pruned_seq: number;
}

/** The line that ends each chunk: whether more events are stored. */
export const CHUNK_END = { more: '{"more":true}', none: '{"more":false}' } as const;

/** Events that come one by one are gathered for this long. */
const GATHER_MS = 2_000;
/** While nothing comes, an empty chunk says so. */
const IDLE_MS = 60_000;

/**
 * What `courtd tail --json --follow --after -` writes for a shipper: a LogHead, then in chunks the lines of `tail --json` behind the
 * seq that the shipper answers. It ends if a backup is restored: that is another log.
 * @param after the seq; 0: from the beginning.
 * @param onDamage is called with a sentence about damaged events, which are left out.
 * @yields lines with their ends: the head, and then a chunk each time.
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
  const read = (after: number) => log.after(after, CHUNK_LIMITS.events);
  const { epochs, lastSeq, prunedSeq } = await read(Number.MAX_SAFE_INTEGER);
  const head: LogHead = { epochs, newest_seq: lastSeq, pruned_seq: prunedSeq };
  yield [`${JSON.stringify(head)}\n`];
  let seq = await after();
  for (let known = Math.max(0, seq - LEARNT_EVENTS); pseudonyms !== undefined && known < seq; ) {
    const { events, upTo, restored } = await read(known);
    if (restored !== undefined) return;
    pseudonyms.learn(events);
    known = Math.max(upTo, known + 1);
  }
  let idleAt = 0;
  while (!signal.aborted) {
    const arrivals = await read(seq);
    if (arrivals.restored !== undefined) return;
    const events = pseudonyms?.under(arrivals.events) ?? arrivals.events;
    if (arrivals.damage.isFound) onDamage(`${arrivals.damage}`);
    const lines = events.filter((one) => one.seq > seq).map((event) => arrivalToJson(event));
    if (lines.length > 0 || performance.now() >= idleAt) {
      yield* chunksOf(lines, arrivals.isLast);
      idleAt = performance.now() + IDLE_MS;
    }
    seq = arrivals.upTo;
    if (!arrivals.isLast) continue;
    await pause(GATHER_MS, signal);
    while (!signal.aborted && !log.mayHaveNew() && performance.now() < idleAt)
      await pause(FOLLOW_POLL_MS, signal);
  }
}

function* chunksOf(lines: readonly string[], isLast: boolean): Generator<string[]> {
  let chunk: string[] = [];
  let bytes = 0;
  for (const line of lines) {
    const size = Buffer.byteLength(line);
    if (chunk.length > 0 && bytes + size > CHUNK_LIMITS.bytes) {
      yield [...chunk, `${CHUNK_END.more}\n`];
      [chunk, bytes] = [[], 0];
    }
    chunk.push(line);
    bytes += size;
  }
  yield [...chunk, `${isLast ? CHUNK_END.none : CHUNK_END.more}\n`];
}
