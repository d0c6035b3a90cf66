import type { Database } from 'better-sqlite3';
import type { Sink } from '../../base/atomicFile.ts';
import { counted, isoTime } from '../../base/units.ts';
import type { DataOption } from '../../store/db/openDatabase.ts';
import type { Damage } from '../../store/read/damage.ts';
import { type AsOf, type EventFilter, readSession } from '../../store/read/sessionReader.ts';
import { encode, type Format } from './encode.ts';

/** Which events of a session are exported, and how. */
export interface ExportOptions extends DataOption, EventFilter {
  readonly format: Format;
}

/** Reports to a person: `show` how far an export is, often and until something else is printed. */
export interface ExportTeller {
  show(text: () => string): void;
  say(sentence: string): void;
}

/**
 * Writes the events of one session that pass the filters and are not damaged, and prints how many there were.
 * @param one `session` is its id, `name` its session_id.
 * @param damage takes the damaged ones.
 * @returns how many were written.
 * @throws {OperatorError} if the output cannot be written.
 */
export async function writeSession(
  db: Database,
  { session, name }: { readonly session: number; readonly name: string },
  options: ExportOptions,
  damage: Damage,
  sink: Sink,
  teller: ExportTeller,
): Promise<number> {
  let written = 0;
  const { format } = options;
  // A coach wants one row per event.
  const filter = format === 'xlsx' ? { ...options, current: true } : options;
  const { asOf, chunks } = readSession(db, session, filter, damage);
  function* counting() {
    for (const events of chunks) {
      written += events.length;
      yield events;
      teller.show(() => `${written} events written`);
    }
  }
  for await (const piece of encode(format, name, counting(), asOf)) await sink.write(piece);
  sink.commit();
  teller.say(writtenSentence(written, asOf, sink));
  if (format === 'xlsx') teller.say('A row is a bounce, a hit or a speed; all other events are counted.');
  return written;
}

/** @returns how many events were written, where, and the last seq that was read. */
export function writtenSentence(events: number, { seq, ms }: AsOf, { place }: Sink): string {
  const to = place === undefined ? '' : ` to ${place}`;
  return `${counted(events, 'event')} written${to}; as_of seq ${seq}, ${isoTime(ms)}.`;
}
