import type { AddressInfo } from 'node:net';
import Database from 'better-sqlite3';
import fastify from 'fastify';
import { BATCH_EVENTS, BODY_BYTES } from '../../../src/base/limits.ts';
import { EventSchema, type WireEvent } from '../../../src/protocol/eventSchema.ts';

/**
 * What one writes in an afternoon: Fastify, one plain table, a durable commit for each request. argv: the database file, the token.
 */
const [file, token] = process.argv.slice(2) as [string, string];
const db = new Database(file);
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec(`
  CREATE TABLE IF NOT EXISTS event (
    id INTEGER PRIMARY KEY, event_id TEXT NOT NULL, session_id TEXT NOT NULL, venue_id TEXT NOT NULL,
    court_id TEXT NOT NULL, eot TEXT NOT NULL, type TEXT NOT NULL, confidence REAL NOT NULL, source TEXT NOT NULL,
    schema_version TEXT NOT NULL, revision INTEGER NOT NULL, payload TEXT NOT NULL, received_ms INTEGER NOT NULL,
    UNIQUE (session_id, event_id, revision)
  )`);
const insert = db.prepare(`
  INSERT OR IGNORE INTO event (event_id, session_id, venue_id, court_id, eot, type, confidence, source, schema_version,
    revision, payload, received_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
const store = db.transaction((events: readonly WireEvent[], receivedMs: number) => {
  let accepted = 0;
  for (const event of events) accepted += insert.run(...columns(event), receivedMs).changes;
  return accepted;
});

const app = fastify({ bodyLimit: BODY_BYTES });
const body = { oneOf: [EventSchema, { type: 'array', maxItems: BATCH_EVENTS, items: EventSchema }] };
app.post<{ Body: WireEvent | WireEvent[] }>('/v1/events', { schema: { body } }, (req, reply) => {
  if (req.headers.authorization !== `Bearer ${token}`) return reply.code(401).send();
  const events = Array.isArray(req.body) ? req.body : [req.body];
  const accepted = store(events, Date.now());
  return reply.code(202).send({ accepted, duplicates: events.length - accepted });
});
await app.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`${JSON.stringify({ port: (app.server.address() as AddressInfo).port })}\n`);
process.once('SIGTERM', () => process.exit(0));

function columns(event: WireEvent) {
  const { event_id, session_id, venue_id, court_id, eot, type, confidence, source, schema_version } = event;
  const names = [event_id, session_id, venue_id, court_id, eot, type];
  return [...names, confidence, source, schema_version, event.revision ?? 0, JSON.stringify(event.payload)];
}
