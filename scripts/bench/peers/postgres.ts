import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Child } from '../child.ts';
import type { Running } from '../contender.ts';
import { freePort } from '../freePort.ts';

/** Debian's PostgreSQL on a data directory of its own, as its installer leaves it: fsync and synchronous_commit are on. */

const VERSIONS = '/usr/lib/postgresql';
/** It refuses to run as root; the package creates the user, who must get to folders of root. */
const USER = ['--reuid=postgres', '--regid=postgres', '--clear-groups'];
const AS_POSTGRES = ['setpriv', ...USER, '--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
/** A quarter of a small box's memory, and checkpoints that do not disturb a run of a few seconds. */
const SETTINGS = { shared_buffers: '256MB', max_wal_size: '2GB', listen_addresses: '127.0.0.1' };
const START_MS = 30_000;

export interface Postgres {
  readonly server: Child;
  readonly url: string;
  readonly held: Required<Pick<Running, 'stored' | 'ids'>>;
}

export function missingPostgres(): string | undefined {
  if (programs() === undefined) return 'the package postgresql is not installed';
  return process.getuid?.() === 0 ? undefined : 'PostgreSQL is started as its own user, which takes root';
}

/** @param directory where its data is, or is made. */
export async function startPostgres(directory: string, under: readonly string[] = []): Promise<Postgres> {
  const data = path.join(directory, 'postgres');
  if (!fs.existsSync(path.join(data, 'PG_VERSION'))) makeCluster(data);
  // After a power cut no process has the number in it; here the one that was killed may not have been waited for yet.
  fs.rmSync(path.join(data, 'postmaster.pid'), { force: true });
  const port = await freePort();
  const settings = { ...SETTINGS, port, unix_socket_directories: '' };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [first, ...rest] = AS_POSTGRES;
  const server = new Child(
    first!,
    [...rest, path.join(programs()!, 'postgres'), '-D', data, ...options],
    under,
  );
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const giveUpAt = performance.now() + START_MS;
  while (!(await isUp(url))) {
    if (server.hasEnded || performance.now() > giveUpAt) server.fail();
    await sleep(50);
  }
  const column = async (sql: string) => (await ask(url, sql)).map((row) => row[0]);
  return {
    server,
    url,
    held: {
      stored: async () => Number((await column('SELECT count(*) FROM event'))[0]),
      ids: async () => new Set((await column('SELECT event_id FROM event')) as string[]),
    },
  };
}

/** @returns the folder of the newest version's programs. */
function programs(): string | undefined {
  if (!fs.existsSync(VERSIONS)) return undefined;
  const newest = fs.readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? undefined : path.join(VERSIONS, newest, 'bin');
}

function makeCluster(data: string): void {
  fs.mkdirSync(data);
  execFileSync('chown', ['postgres:postgres', data]);
  const [first, ...rest] = AS_POSTGRES;
  const initdb = [
    path.join(programs()!, 'initdb'),
    '-D',
    data,
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
  ];
  execFileSync(first!, [...rest, ...initdb], { stdio: 'pipe' });
}

async function isUp(url: string): Promise<boolean> {
  try {
    return (await ask(url, 'SELECT 1')).length === 1;
  } catch {
    return false;
  }
}

async function ask(connectionString: string, text: string): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString });
  try {
    await client.connect();
    return (await client.query({ text, rowMode: 'array' })).rows;
  } finally {
    await client.end().catch(() => {});
  }
}
