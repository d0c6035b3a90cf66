import type { Database } from 'better-sqlite3';
import { PRUNE_READ_ROWS } from '../protocol/limits.ts';

/** Which events are old. Milliseconds since 1970-01-01T00:00:00Z. */
export interface OldEvents {
  /** Received before this. */
  readonly beforeMs: number;
  readonly nowMs: number;
  /** Only those of this type. */
  readonly type?: string;
}

export interface OldEvent {
  readonly seq: number;
  readonly session: number;
}

interface Row extends OldEvent {
  readonly receivedMs: number;
  readonly origin: number;
}

/**
 * Finds the old events in the order of arrival, up to the first one that is not old: what came after that is not old
 * either. So only the oldest part of the file is read, and nothing is lost to a clock that was wrong: an event that came
 * with the clock years behind (a flat battery) has come after others. One that seems to come from the future says nothing
 * about those after it, and is kept itself.
 * @yields lists of them, some empty.
 */
export function* oldEvents(
  db: Database,
  { beforeMs, nowMs, type }: OldEvents,
): Generator<readonly OldEvent[]> {
  const originsOf = db.prepare<[string], number>('SELECT id FROM origin WHERE type = ?').pluck();
  const origins = type === undefined ? undefined : new Set(originsOf.all(type));
  const chunk = db.prepare<[number], Row>(`
    SELECT seq, session, received_ms AS receivedMs, origin FROM event WHERE seq > ? ORDER BY seq
     LIMIT ${PRUNE_READ_ROWS}`);
  for (let after = 0; ; ) {
    const rows = chunk.all(after);
    const end = rows.findIndex(({ receivedMs }) => receivedMs >= beforeMs && receivedMs <= nowMs);
    const passed = end === -1 ? rows : rows.slice(0, end);
    yield passed.filter(({ receivedMs, origin }) => receivedMs < beforeMs && (origins?.has(origin) ?? true));
    if (end !== -1 || rows.length < PRUNE_READ_ROWS) return;
    after = rows.at(-1)!.seq;
  }
}
