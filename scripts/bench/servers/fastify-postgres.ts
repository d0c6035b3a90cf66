import fastify from 'fastify';
import pg from 'pg';
import { BATCH_EVENTS, BODY_BYTES } from '../../../src/base/limits.ts';
import { EventSchema, type WireEvent } from '../../../src/protocol/eventSchema.ts';
import { listenAndAnnounce } from './announce.ts';

/**
 * Fastify and PostgreSQL, with group commit: the requests that wait while every connection is busy share the next statement.
 * argv: the connection string, the token.
 */
const [connectionString, token] = process.argv.slice(2) as [string, string];
const CONNECTIONS = 4;
const GROUP_EVENTS = 2_000;
const pool = new pg.Pool({ connectionString, max: CONNECTIONS, idleTimeoutMillis: 0 });
await pool.query(`
  CREATE TABLE IF NOT EXISTS event (
    session_id text NOT NULL, event_id text NOT NULL, revision int NOT NULL, venue_id text NOT NULL, court_id text NOT NULL,
    eot timestamptz NOT NULL, eot_text text NOT NULL, type text NOT NULL, confidence float8 NOT NULL, source text NOT NULL,
    payload text NOT NULL, received timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (session_id, event_id, revision)
  )`);
const INSERT = `
  INSERT INTO event (session_id, event_id, revision, venue_id, court_id, eot, eot_text, type, confidence, source, payload)
  SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::text[], $5::text[], $6::timestamptz[], $6::text[], $7::text[],
                       $8::float8[], $9::text[], $10::text[])
  ON CONFLICT DO NOTHING`;

interface Waiting {
  readonly events: readonly WireEvent[];
  readonly resolve: (accepted: number) => void;
  readonly reject: (error: unknown) => void;
}
const waiting: Waiting[] = [];
let busy = 0;

const app = fastify({ bodyLimit: BODY_BYTES });
const body = { oneOf: [EventSchema, { type: 'array', maxItems: BATCH_EVENTS, items: EventSchema }] };
app.post<{ Body: WireEvent | WireEvent[] }>('/v1/events', { schema: { body } }, async (req, reply) => {
  if (req.headers.authorization !== `Bearer ${token}`) return reply.code(401).send();
  const events = Array.isArray(req.body) ? req.body : [req.body];
  const accepted = await append(events);
  return reply.code(202).send({ accepted, duplicates: events.length - accepted });
});
await app.ready();
listenAndAnnounce(app.server);
process.once('SIGTERM', () => process.exit(0));

function append(events: readonly WireEvent[]): Promise<number> {
  return new Promise((resolve, reject) => {
    waiting.push({ events, resolve, reject });
    if (busy < CONNECTIONS) {
      busy++;
      // What arrives in the same turn shares a statement.
      setImmediate(storeWhatWaits);
    }
  });
}

async function storeWhatWaits(): Promise<void> {
  while (waiting.length > 0) {
    const group: Waiting[] = [];
    for (let size = 0; waiting.length > 0 && size < GROUP_EVENTS; size += group.at(-1)!.events.length) {
      group.push(waiting.shift()!);
    }
    try {
      for (const [i, accepted] of (await store(group)).entries()) group[i]!.resolve(accepted);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
  busy--;
}

/** @returns how many events of each request are new. */
async function store(group: readonly Waiting[]): Promise<number[]> {
  if (group.length === 1) return [await insert(pool, group)];
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const all = group.reduce((sum, { events }) => sum + events.length, 0);
    let accepted = group.map(({ events }) => events.length);
    if ((await insert(client, group)) < all) {
      // Only a group with duplicates takes a statement for each request, to count them.
      await client.query('ROLLBACK; BEGIN');
      accepted = [];
      for (const one of group) accepted.push(await insert(client, [one]));
    }
    await client.query('COMMIT');
    return accepted;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

async function insert(client: pg.Pool | pg.PoolClient, group: readonly Waiting[]): Promise<number> {
  const values = columns(group.flatMap(({ events }) => events));
  return (await client.query({ name: 'insert', text: INSERT, values })).rowCount!;
}

function columns(events: readonly WireEvent[]): unknown[][] {
  return [
    events.map((event) => event.session_id),
    events.map((event) => event.event_id),
    events.map((event) => event.revision ?? 0),
    events.map((event) => event.venue_id),
    events.map((event) => event.court_id),
    events.map((event) => event.eot),
    events.map((event) => event.type),
    events.map((event) => event.confidence),
    events.map((event) => event.source),
    events.map((event) => JSON.stringify(event.payload)),
  ];
}
