import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Child } from '../child.ts';
import type { Contender } from '../contender.ts';
import { courtTarget } from '../courtd.ts';
import { missingEtcd, startEtcd } from './etcd.ts';
import { missingPostgres, startPostgres } from './postgres.ts';
import { missingRedis, startRedis } from './redis.ts';
import { heldInSQLite, TOKEN } from './stored.ts';

/** The servers in Go (../servers/go), each with its store. */

const SOURCE = path.join(import.meta.dirname, '../servers/go');
const PROGRAM = path.join(import.meta.dirname, '../../../data/go-peer');
/** Where Debian puts Go's libraries. */
const GOPATH = '/usr/share/gocode';
const LIBRARIES = ['mattn/go-sqlite3', 'jackc/pgx', 'gomodule/redigo', 'json-iterator/go'];
const ETCD_CLIENT = 'go.etcd.io/etcd/clientv3';

const GO = 'net/http, jsoniter, a commit for all requests that wait;';
const CHECKS =
  'JSON; every field is there and of a fair length; type, confidence, eot; the payload is an object. Not the fields of a payload, nor that a resend has different content; unknown fields are dropped';

export const goSQLite: Contender = {
  name: 'go-sqlite',
  title: 'Go + SQLite',
  built: `${GO} rows of a request in one INSERT OR IGNORE, WAL, synchronous=FULL, 128 MiB of cache`,
  checks: CHECKS,
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
  built: `${GO} pgx, a group in one INSERT ... SELECT FROM unnest ON CONFLICT DO NOTHING`,
  checks: CHECKS,
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
  built: `${GO} a group in one MULTI ... EXEC of HSETNX, by a script in batches; all events are in memory`,
  checks: CHECKS,
  missing: () => missingGo() ?? missingRedis(),
  async start(directory, under) {
    const redis = await startRedis(directory, under);
    const child = peer(['redis', redis.where]);
    return { child, servers: [redis.server], target: await courtTarget(child, TOKEN), ...redis.held };
  },
};

export const goEtcd: Contender = {
  name: 'go-etcd',
  title: 'Go + etcd, one member',
  built: `${GO} a group in one transaction of put-if-absent; all keys are in memory`,
  checks: CHECKS,
  isWithoutLibc: true,
  missing: () =>
    missingGo() ??
    missingEtcd() ??
    (hasEtcdClient() ? undefined : `Debian's package of etcd's client is not installed`),
  async start(directory, under) {
    const etcd = await startEtcd(directory, under);
    const child = peer(['etcd', etcd.where]);
    return { child, servers: [etcd.server], target: await courtTarget(child, TOKEN), ...etcd.held };
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

/** Debian 12 has it under this name. */
function hasEtcdClient(): boolean {
  return fs.existsSync(path.join(GOPATH, 'src', ETCD_CLIENT));
}

/** Builds it; Go knows what has changed. @returns the program. */
function built(): string {
  const env = { ...process.env, GO111MODULE: 'off', GOPATH };
  const tags = hasEtcdClient() ? ['-tags', 'etcd'] : [];
  execFileSync('go', ['build', ...tags, '-o', PROGRAM, '.'], {
    cwd: SOURCE,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return PROGRAM;
}
