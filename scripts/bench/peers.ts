import path from 'node:path';
import Database from 'better-sqlite3';
import { Child } from './child.ts';
import type { Contender } from './contender.ts';
import { courtTarget } from './courtd.ts';

/** Servers of a file each. */

const TOKEN = 'a-token-of-the-bench';
const script = (name: string) => path.join(import.meta.dirname, 'servers', `${name}.ts`);

export const nodeHttp: Contender = {
  name: 'node-http',
  title: 'node:http, parses, stores nothing',
  async start() {
    const child = new Child(process.execPath, [script('node-http')]);
    return { child, target: await courtTarget(child, TOKEN) };
  },
};

export const fastify: Contender = {
  name: 'fastify',
  title: 'Fastify + better-sqlite3, FULL',
  async start(directory) {
    const file = path.join(directory, 'events.db');
    const child = new Child(process.execPath, [script('fastify'), file, TOKEN]);
    return { child, target: await courtTarget(child, TOKEN), stored: async () => countRows(file) };
  },
};

function countRows(file: string): number {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare<[], number>('SELECT count(*) FROM event').pluck().get()!;
  } finally {
    db.close();
  }
}
