import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { Child } from './child.ts';
import type { Contender } from './contender.ts';
import { courtTarget } from './courtd.ts';

const TOKEN = 'a-token-of-the-bench';
const SERVER = path.join(import.meta.dirname, 'servers/fastify.ts');
const INSTALLED = path.join(import.meta.dirname, 'node_modules/fastify/package.json');

export const fastify: Contender = {
  name: 'fastify',
  title: 'Fastify + better-sqlite3, FULL',
  missing: () => (fs.existsSync(INSTALLED) ? undefined : 'npm ci --prefix scripts/bench brings Fastify'),
  async start(directory, under) {
    const file = path.join(directory, 'events.db');
    const child = new Child(process.execPath, [SERVER, file, TOKEN], under);
    return { child, target: await courtTarget(child, TOKEN), stored: async () => stored(file) };
  },
};

function stored(file: string): number {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare<[], number>('SELECT count(*) FROM event').pluck().get()!;
  } finally {
    db.close();
  }
}
