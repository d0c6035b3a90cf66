import { parseArgs } from 'node:util';
import pg from 'pg';
import { readStream } from '../../src/fleet/headquarters/readStream.ts';
import { eventOf, linesOf } from '../../src/fleet/log/chunk.ts';
import { connectTo } from '../../src/fleet/nats/connect.ts';
import { chunkHead, STREAM, sha256Of, sourceOf } from '../../src/fleet/nats/fleetLog.ts';
import { eotToNs } from '../../src/protocol/eot.ts';

/**
 * A reference consumer: brings the events of a fleet into PostgreSQL, each once, however often it is killed.
 *
 *     node scripts/consumer/postgresql.ts nats://HOST:4222 postgres://USER@HOST/DATABASE [--once] [--creds FILE] [--ca FILE]
 *
 * Two things make it exact. The cursor, the number of the last message in the stream, is in the database and moves in the
 * transaction that stores the message's events: so both are there, or neither. And the key of an event is unique: what a
 * restored box ships again is there already. It ends with status 1 at the first failure; whatever starts it again goes on.
 */

const TABLES = `
  CREATE TABLE IF NOT EXISTS fleet_cursor (
    stream      text   PRIMARY KEY,
    message     bigint NOT NULL                    -- every message up to here is stored
  );
  CREATE TABLE IF NOT EXISTS court_event (
    box         text        NOT NULL,
    session_id  text        NOT NULL,
    event_id    text        NOT NULL,
    revision    bigint      NOT NULL,
    eot_ns      bigint      NOT NULL,              -- nanoseconds since 1970, in UTC
    type        text        NOT NULL,
    court_id    text        NOT NULL,
    source      text        NOT NULL,
    received_at timestamptz NOT NULL,
    epoch       text        NOT NULL,
    seq         bigint      NOT NULL,
    event       json        NOT NULL,              -- as the camera sent it; jsonb would change its numbers
    UNIQUE (box, session_id, event_id, revision)
  )`;

const BEGIN_CURSOR = 'INSERT INTO fleet_cursor VALUES ($1, 0) ON CONFLICT DO NOTHING';
const READ_CURSOR = 'SELECT message FROM fleet_cursor WHERE stream = $1';
/** Held by this session until it ends: another consumer waits, and so does one that begins while PostgreSQL still ends what a killed one began. */
const LOCK = 'SELECT pg_advisory_lock(4222)';
const MOVE_CURSOR = 'UPDATE fleet_cursor SET message = $3 WHERE stream = $1 AND message = $2';
const COLUMNS = {
  session_id: 'text',
  event_id: 'text',
  revision: 'bigint',
  eot_ns: 'bigint',
  type: 'text',
  court_id: 'text',
  source: 'text',
  received_at: 'timestamptz',
  seq: 'bigint',
  event: 'json',
} as const;
type Row = Record<keyof typeof COLUMNS, string | number>;
const NAMES = Object.keys(COLUMNS) as (keyof Row)[];
const INSERT = `
  INSERT INTO court_event (box, epoch, ${NAMES.join(', ')})
  SELECT $1, $2, * FROM unnest(${NAMES.map((name, i) => `$${i + 3}::${COLUMNS[name]}[]`).join(', ')})
  ON CONFLICT (box, session_id, event_id, revision) DO NOTHING`;

/** @param line of `courtd tail --json`. */
function rowOf(line: string): Row {
  const { seq, received_at, event } = JSON.parse(line);
  const { session_id, event_id, revision = 0, eot, type, court_id, source } = event;
  const eot_ns = `${eotToNs(eot)}`;
  return {
    session_id,
    event_id,
    revision,
    eot_ns,
    type,
    court_id,
    source,
    received_at,
    seq,
    event: eventOf(line),
  };
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { once: { type: 'boolean' }, creds: { type: 'string' }, ca: { type: 'string' } },
});
const [url, database] = positionals;
if (url === undefined || database === undefined) {
  console.error('Usage: postgresql.ts NATS-URL POSTGRESQL-URL [--once] [--creds FILE] [--ca FILE]');
  process.exit(2);
}
const { once = false, ...files } = values;

try {
  const db = new pg.Client({ connectionString: database });
  await db.connect();
  await db.query(LOCK);
  await db.query(TABLES);
  await db.query(BEGIN_CURSOR, [STREAM]);
  let cursor = Number((await db.query(READ_CURSOR, [STREAM])).rows[0].message);
  const nc = await connectTo({ url, ...files, name: 'courtd consumer', forever: !once });
  for await (const { seq, subject, headers, data } of readStream(nc, {
    stream: STREAM,
    after: cursor,
    follow: !once,
  })) {
    if (chunkHead(headers)?.sha256 !== sha256Of(data))
      throw new Error(`message ${seq} is damaged: run "courtd fleet check"`);
    const { box, epoch } = sourceOf(subject);
    const rows = linesOf(data).map(rowOf);
    await db.query('BEGIN');
    const moved = await db.query(MOVE_CURSOR, [STREAM, cursor, seq]);
    if (moved.rowCount !== 1) throw new Error('somebody else has moved the cursor');
    await db.query(INSERT, [box, epoch, ...NAMES.map((name) => rows.map((row) => row[name]))]);
    await db.query('COMMIT');
    cursor = seq;
  }
  await nc.close();
  await db.end();
} catch (error) {
  console.error(`consumer: ${(error as Error).message}`);
  process.exit(1);
}
