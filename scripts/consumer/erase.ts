import { parseArgs } from 'node:util';
import { jetstreamManager } from '@nats-io/jetstream';
import pg from 'pg';
import { readStream } from '../../src/fleet/headquarters/readStream.ts';
import { linesOf } from '../../src/fleet/log/chunk.ts';
import { connectTo } from '../../src/fleet/nats/connect.ts';
import { STREAM, subjectOf } from '../../src/fleet/nats/fleetLog.ts';
import { decodeBatch } from '../../src/protocol/decodeBatch.ts';
import { eventToJson } from '../../src/protocol/event.ts';
import { mentions, redact } from '../../src/protocol/playerRedaction.ts';
import { randomName } from '../../src/store/erasure/redactor.ts';

/**
 * Erases a player of a box at headquarters, in the PostgreSQL of the reference consumer and in the stream, as `courtd player erase` has
 * done on the box:
 *
 *     node scripts/consumer/erase.ts nats://HOST:4222 postgres://USER@HOST/DATABASE BOX PLAYER [--creds FILE] [--ca FILE]
 *
 * Run again, it goes on. Whatever else of the box is in a message that names him is in PostgreSQL by then, or nothing is deleted.
 */

/** As the consumer: it waits while this runs. */
const LOCK = 'SELECT pg_advisory_lock(4222)';
const READ_CURSOR = 'SELECT message FROM fleet_cursor WHERE stream = $1';
/** An id may be written with escapes. */
const ROWS = `
  SELECT ctid::text AS place, session_id, event::text AS event FROM court_event
   WHERE box = $1 AND (strpos(event::text, $2) > 0 OR strpos(event::text, chr(92)) > 0)`;
const UPDATE = 'UPDATE court_event SET event = $2 WHERE ctid = $1::tid';
const ROWS_AT_ONCE = 1_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { creds: { type: 'string' }, ca: { type: 'string' } },
});
const [url, database, box, player] = positionals;
if (url === undefined || database === undefined || box === undefined || player === undefined) {
  console.error('Usage: erase.ts NATS-URL POSTGRESQL-URL BOX PLAYER [--creds FILE] [--ca FILE]');
  process.exit(2);
}
const isHis = (text: string) => text === player;

/** Where cameras name players by numbers, which are no strings. */
const isNumbered = (line: string) => line.includes(`"player_id":${player}`);

/** One name for each session, which nothing derives. */
const names = new Map<string, string>();
function nameIn(session: string): string {
  const name = names.get(session) ?? randomName('erased-');
  names.set(session, name);
  return name;
}

/** @returns what is left of an event; undefined where it does not name him. */
function without(text: string, session: string): string | undefined {
  const [event] = decodeBatch(Buffer.from(text));
  const left = redact(event!, (id) => (isHis(id) ? nameIn(session) : undefined));
  return left && eventToJson({ ...event!, ...left });
}

try {
  const db = new pg.Client({ connectionString: database });
  await db.connect();
  await db.query(LOCK);
  const nc = await connectTo({ url, ...values, name: 'courtd erase' });
  const numbers: number[] = [];
  for await (const { seq, data } of readStream(nc, { stream: STREAM, filter: subjectOf(box, '*') })) {
    if (linesOf(data).some((line) => mentions(line, isHis) || isNumbered(line))) numbers.push(seq);
  }
  const stored = Number((await db.query(READ_CURSOR, [STREAM])).rows[0]?.message ?? 0);
  if (stored < (numbers.at(-1) ?? 0))
    throw new Error(`the consumer has not stored message ${numbers.at(-1)} yet: run it with --once first`);

  await db.query('BEGIN');
  await db.query(`DECLARE named NO SCROLL CURSOR FOR ${ROWS}`, [box, player]);
  let erased = 0;
  for (;;) {
    const { rows } = await db.query(`FETCH ${ROWS_AT_ONCE} FROM named`);
    for (const { place, session_id, event } of rows) {
      const left = without(event, session_id);
      if (left === undefined) continue;
      await db.query(UPDATE, [place, left]);
      erased++;
    }
    if (rows.length === 0) break;
  }
  await db.query('COMMIT');
  // What an update leaves of the old row.
  await db.query('VACUUM FULL court_event');

  const manager = await jetstreamManager(nc, { checkAPI: false });
  // The server overwrites each of them.
  for (const number of numbers) await manager.streams.deleteMessage(STREAM, number, true);
  console.log(`${erased} events of ${box} changed, ${numbers.length} messages deleted`);
  await nc.close();
  await db.end();
} catch (error) {
  console.error(`erase: ${(error as Error).message}`);
  process.exit(1);
}
