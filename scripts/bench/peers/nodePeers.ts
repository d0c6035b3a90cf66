import path from 'node:path';
import { Child } from '../child.ts';
import type { Contender } from '../contender.ts';
import { courtTarget } from '../courtd.ts';
import { missingFastify } from './packages.ts';
import { missingPostgres, startPostgres } from './postgres.ts';
import { heldInSQLite, TOKEN } from './stored.ts';

/** Servers that are one file each. */

const script = (name: string) => path.join(import.meta.dirname, '../servers', `${name}.ts`);

const SCHEMA =
  "courtd's JSON schema, by ajv. Not that a resend has different content; numbers become doubles, unknown fields are dropped";

export const nodeHttp: Contender = {
  name: 'node-http',
  title: 'node:http, parses, stores nothing',
  async start(_directory, under) {
    const child = new Child(process.execPath, [script('node-http')], under);
    return { child, target: await courtTarget(child, TOKEN) };
  },
};

export const fastify: Contender = {
  name: 'fastify',
  title: 'Fastify + better-sqlite3, FULL',
  built: 'what one writes in an afternoon: a commit for each request, WAL, synchronous=FULL',
  checks: SCHEMA,
  missing: missingFastify,
  async start(directory, under) {
    const file = path.join(directory, 'events.db');
    const child = new Child(process.execPath, [script('fastify'), file, TOKEN], under);
    return { child, target: await courtTarget(child, TOKEN), ...heldInSQLite(file) };
  },
};

/** Fastify with PostgreSQL: the usual choice where there is an administrator. */
export const fastifyPostgres: Contender = {
  name: 'fastify-postgres',
  title: 'Fastify + PostgreSQL',
  built:
    'four connections, each stores all requests that wait in one INSERT ... SELECT FROM unnest ON CONFLICT DO NOTHING',
  checks: SCHEMA,
  missing: () => missingFastify() ?? missingPostgres(),
  async start(directory, under) {
    const postgres = await startPostgres(directory, under);
    const child = new Child(process.execPath, [script('fastify-postgres'), postgres.url, TOKEN]);
    return { child, servers: [postgres.server], target: await courtTarget(child, TOKEN), ...postgres.held };
  },
};
