import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from '../child.ts';
import type { Running } from '../contender.ts';
import { freePort } from '../freePort.ts';

/** Debian's Redis, which syncs its append-only file before it answers, and keeps every event in memory as well. */

export function missingRedis(): string | undefined {
  return spawnSync('redis-server', ['--version']).error === undefined
    ? undefined
    : 'the package redis-server is not installed';
}

export interface Redis {
  readonly server: Child;
  readonly where: string;
  readonly held: Required<Pick<Running, 'stored' | 'ids'>>;
}

export async function startRedis(directory: string, under?: readonly string[]): Promise<Redis> {
  const port = await freePort();
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: directory,
    appendonly: 'yes',
    appendfsync: 'always',
    save: '',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = new Child('redis-server', options, under);
  while (ask(port, 'PING') !== 'PONG') {
    if (server.hasEnded) server.fail();
    await sleep(50);
  }
  const fields = () =>
    ask(port, 'EVAL', HELD, '0')
      .split('\n')
      .filter((field) => field !== '');
  return {
    server,
    where: `127.0.0.1:${port}`,
    held: {
      stored: async () => fields().reduce((sum, field) => sum + Number(field.split(' ')[0]), 0),
      ids: async () =>
        new Set(
          fields().flatMap((field) =>
            ask(port, 'HKEYS', field.slice(field.indexOf(' ') + 1))
              .split('\n')
              .map((key) => key.split(' ')[0]!),
          ),
        ),
    },
  };
}

/** For each session its events, and its key. */
const HELD = `
  local found = {}
  for _, key in ipairs(redis.call('KEYS', 'session:*')) do found[#found + 1] = redis.call('HLEN', key) .. ' ' .. key end
  return found`;

function ask(port: number, ...command: readonly string[]): string {
  const most = 1024 ** 3;
  const { stdout } = spawnSync('redis-cli', ['-p', String(port), ...command], {
    encoding: 'utf8',
    maxBuffer: most,
  });
  return (stdout ?? '').trim();
}
