import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from './child.ts';
import type { Contender } from './contender.ts';
import { freePort } from './freePort.ts';
import type { Wording } from './traffic.ts';

/**
 * InfluxDB 1.x, which venues of this kind often have: Debian's package `influxdb`. Its log is fsynced at every write.
 * The event id is a field, so it does not recognise an event that is sent again.
 */
export const influxdb: Contender = {
  name: 'influxdb',
  title: 'InfluxDB 1.x, fsync at every write',
  built: "Debian's package, its log synced at every write; a point for each event, in its line protocol",
  checks:
    'the line protocol. Nothing of an event; one that is sent again is a new one unless its time and tags are the same; no token. It hangs at its start where the power went within half a minute of the first event of a new database (influxdata/influxdb, issue 10540): here that database is older',
  missing: () => {
    const found = spawnSync('influxd', ['version'], { encoding: 'utf8' }).stdout;
    return found?.startsWith('InfluxDB v1.') ? undefined : 'the package influxdb (1.x) is not installed';
  },
  async start(directory, under) {
    const config = path.join(directory, 'influxdb.conf');
    const [port, rpcPort] = [await freePort(), await freePort()];
    fs.writeFileSync(config, settings(directory, port, rpcPort));
    const child = new Child('influxd', ['-config', config], under);
    const url = `http://127.0.0.1:${port}`;
    while (!(await isUp(url))) {
      if (child.hasEnded) child.fail();
      await sleep(50);
    }
    await ask(url, 'CREATE DATABASE bench', 'POST');
    const target = { port, path: '/write?db=bench&precision=ns', headers: {}, wording: LINES };
    return { child, target, stored: () => count(url) };
  },
};

/** A point for each event: what one searches by are tags, the rest are fields. */
const LINES: Wording = {
  event:
    'event,session_id={session},venue_id=venue-1,court_id=court-{court},type=BALL_BOUNCE event_id="{id}"' +
    ',confidence=0.{n},source="court-{court}-cam-1",schema_version="1.0",revision=0i,x_ft=12.{n},y_ft=7.{n}' +
    ',is_in=true {ns}',
  batch: ['', '\n', ''],
};

function settings(directory: string, port: number, rpcPort: number): string {
  return `
    reporting-disabled = true
    bind-address = "127.0.0.1:${rpcPort}"
    [meta]
      dir = "${directory}/meta"
    [data]
      dir = "${directory}/data"
      wal-dir = "${directory}/wal"
      wal-fsync-delay = "0s"
      query-log-enabled = false
    [monitor]
      store-enabled = false
    [http]
      bind-address = "127.0.0.1:${port}"
      log-enabled = false
  `;
}

async function isUp(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/ping`)).ok;
  } catch {
    return false;
  }
}

interface Answer {
  readonly results: readonly { readonly series?: readonly { readonly values: (number | string)[][] }[] }[];
}

async function ask(url: string, q: string, method = 'GET'): Promise<Answer> {
  const answer = await fetch(`${url}/query?${new URLSearchParams({ db: 'bench', q })}`, { method });
  if (!answer.ok) throw new Error(`InfluxDB: ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

async function count(url: string): Promise<number> {
  const { results } = await ask(url, 'SELECT count(event_id) FROM event');
  // [[time, count]]; no series before the first event.
  return Number(results[0]?.series?.[0]?.values[0]?.[1] ?? 0);
}
