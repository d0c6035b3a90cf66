import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from '../child.ts';
import type { Running } from '../contender.ts';
import { freePort } from '../freePort.ts';

/** Debian's etcd, alone: it answers when its log is synced, and keeps every key in memory. */

/** As much as it takes: its defaults are made for a few small values. */
const SETTINGS = {
  'max-txn-ops': 100_000,
  'max-request-bytes': 16 * 1024 ** 2,
  'quota-backend-bytes': 8 * 1024 ** 3,
};

export interface Etcd {
  readonly server: Child;
  readonly where: string;
  readonly held: Required<Pick<Running, 'stored' | 'ids'>>;
}

export function missingEtcd(): string | undefined {
  return spawnSync('etcd', ['--version']).error === undefined
    ? undefined
    : 'the package etcd-server is not installed';
}

export async function startEtcd(directory: string, under?: readonly string[]): Promise<Etcd> {
  const [port, peerPort] = [await freePort(), await freePort()];
  const [url, peerUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const settings = {
    ...SETTINGS,
    'data-dir': path.join(directory, 'etcd'),
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': `default=${peerUrl}`,
    'log-level': 'error',
    logger: 'zap',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = new Child('etcd', options, under);
  while (!(await isUp(url))) {
    if (server.hasEnded) server.fail();
    await sleep(50);
  }
  return {
    server,
    where: `127.0.0.1:${port}`,
    held: {
      stored: async () => Number((await range(url, { count_only: true })).count ?? 0),
      ids: async () => {
        const { kvs = [] } = await range(url, { keys_only: true });
        // event/SESSION/ID/REVISION
        return new Set(kvs.map(({ key }) => Buffer.from(key, 'base64').toString().split('/')[2]!));
      },
    },
  };
}

async function isUp(url: string): Promise<boolean> {
  try {
    return ((await (await fetch(`${url}/health`)).json()) as { health: string }).health === 'true';
  } catch {
    return false;
  }
}

interface Range {
  readonly count?: string;
  readonly kvs?: readonly { readonly key: string }[];
}

/** @returns what its gateway says of all events. */
async function range(url: string, options: Readonly<Record<string, boolean>>): Promise<Range> {
  const [key, end] = ['event/', 'event0'].map((text) => Buffer.from(text).toString('base64'));
  const body = JSON.stringify({ key, range_end: end, ...options });
  const answer = await fetch(`${url}/v3/kv/range`, { method: 'POST', body });
  if (!answer.ok) throw new Error(`etcd: ${await answer.text()}`);
  return (await answer.json()) as Range;
}
