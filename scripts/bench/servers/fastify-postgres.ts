import fastify from 'fastify';
import pg from 'pg';
import { BATCH_EVENTS, BODY_BYTES } from '../../../src/base/limits.ts';
import { EventSchema, type WireEvent } from '../../../src/protocol/eventSchema.ts';
import { listenAndAnnounce } from './announce.ts';

/**
 * Fastify and PostgreSQL: a statement for each request, on a pool, so that PostgreSQL commits those of several connections with
 * one sync. argv: the connection string, the token.
 */
const [connectionString, token] = process.argv.slice(2) as [string, string];
/** Of 8, 16 and 32 connections the fastest with 64 clients, on two cores. */
const pool = new pg.Pool({ connectionString, max: 16, idleTimeoutMillis: 0 });
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

const app = fastify({ bodyLimit: BODY_BYTES });
const body = { oneOf: [EventSchema, { type: 'array', maxItems: BATCH_EVENTS, items: EventSchema }] };
app.post<{ Body: WireEvent | WireEvent[] }>('/v1/events', { schema: { body } }, async (req, reply) => {
  if (req.headers.authorization !== `Bearer ${token}`) return reply.code(401).send();
  const events = Array.isArray(req.body) ? req.body : [req.body];
  const { rowCount } = await pool.query({ name: 'insert', text: INSERT, values: columns(events) });
  return reply.code(202).send({ accepted: rowCount, duplicates: events.length - rowCount! });
});
await app.ready();
listenAndAnnounce(app.server);
process.once('SIGTERM', () => process.exit(0));

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
