import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Child } from '../child.ts';
import type { Contender } from '../contender.ts';
import { courtTarget } from '../courtd.ts';
import { missingPostgres, startPostgres } from './postgres.ts';
import { missingRedis, startRedis } from './redis.ts';
import { heldInSQLite, TOKEN } from './stored.ts';

/** The servers in Go (../servers/go), each with its store. */

const SOURCE = path.join(import.meta.dirname, '../servers/go');
const PROGRAM = path.join(import.meta.dirname, '../../../data/go-peer');
/** Where Debian puts Go's libraries. */
const GOPATH = '/usr/share/gocode';
const LIBRARIES = ['mattn/go-sqlite3', 'jackc/pgx', 'gomodule/redigo'];

export const goSQLite: Contender = {
  name: 'go-sqlite',
  title: 'Go + SQLite',
  missing: missingGo,
  async start(directory, under) {
    const file = path.join(directory, 'events.db');
    const child = peer(['sqlite', file], under);
    return { child, target: await courtTarget(child, TOKEN), ...heldInSQLite(file) };
  },
};

export const goPostgres: Contender = {
  name: 'go-postgres',
  title: 'Go + PostgreSQL',
  missing: () => missingGo() ?? missingPostgres(),
  async start(directory, under) {
    const postgres = await startPostgres(directory, under);
    const child = peer(['postgres', postgres.url]);
    return { child, servers: [postgres.server], target: await courtTarget(child, TOKEN), ...postgres.held };
  },
};

export const goRedis: Contender = {
  name: 'go-redis',
  title: 'Go + Redis, appendfsync always',
  missing: () => missingGo() ?? missingRedis(),
  async start(directory, under) {
    const redis = await startRedis(directory, under);
    const child = peer(['redis', redis.where]);
    return { child, servers: [redis.server], target: await courtTarget(child, TOKEN), ...redis.held };
  },
};

function missingGo(): string | undefined {
  if (spawnSync('go', ['version']).error !== undefined) return 'the package golang-go is not installed';
  const absent = LIBRARIES.find((library) => !fs.existsSync(path.join(GOPATH, 'src/github.com', library)));
  return absent === undefined ? undefined : `Debian's package of Go's ${absent} is not installed`;
}

function peer(args: readonly string[], under?: readonly string[]): Child {
  return new Child(built(), [...args, TOKEN], under);
}

/** Builds it; Go knows what has changed. @returns the program. */
function built(): string {
  const env = { ...process.env, GO111MODULE: 'off', GOPATH };
  execFileSync('go', ['build', '-o', PROGRAM, '.'], {
    cwd: SOURCE,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return PROGRAM;
}
