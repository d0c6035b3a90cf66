import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { Child } from './child.ts';
import type { Target } from './sender.ts';

/** A server that takes part. */
export interface Contender {
  /** For `--only`. */
  readonly name: string;
  readonly title: string;
  /** @returns why it cannot take part on this machine, as a clause; undefined if it can. */
  lacks?(): string | undefined;
  /** @param directory its own, empty. */
  start(directory: string): Promise<Running>;
}

export interface Running {
  readonly child: Child;
  readonly target: Target;
  /** Events that it has acknowledged. */
  events: number;
  /** Stops it. @throws {Error} if it holds fewer events than it has acknowledged. */
  finish(): Promise<void>;
}

const HERE = import.meta.dirname;
const TOKEN = 'a-token-of-the-benchmark';
const GO_PATH = '/usr/share/gocode';

/** @param against another checkout of courtd, which then is the only other contender. */
export function contendersOf(root: string, against: string | undefined): Contender[] {
  const courtd = courtdOf('courtd', 'courtd', root);
  if (against !== undefined)
    return [courtd, courtdOf('against', `courtd in ${against}`, path.resolve(against))];
  return [courtd, fastify, go, influxdb];
}

/** As shipped; all load comes from one address, so without the rate limit. */
function courtdOf(name: string, title: string, checkout: string): Contender {
  const run = (...args: string[]) => new Child(path.join(checkout, 'bin/courtd'), args);
  return {
    name,
    title,
    async start(data) {
      const token = await run('token', 'rotate', '--data', data).output();
      const where = ['--data', data, '--host', '127.0.0.1', '--port', '0'];
      return runningOf(run('serve', ...where, '--rate-limit', '0'), token, async () => {
        const sessions: { events: number }[] = JSON.parse(
          await run('session', 'list', '--json', '--data', data).output(),
        );
        return sessions.reduce((sum, { events }) => sum + events, 0);
      });
    },
  };
}

/** What one writes in an afternoon: a commit for each request. */
const fastify: Contender = {
  name: 'fastify',
  title: 'Fastify + better-sqlite3, FULL',
  lacks: () =>
    fs.existsSync(path.join(HERE, 'node_modules/fastify'))
      ? undefined
      : '"npm ci --prefix scripts/bench" brings Fastify',
  start: (directory) => {
    const file = path.join(directory, 'events.db');
    return runningOf(
      new Child(process.execPath, [path.join(HERE, 'servers/fastify.ts'), file, TOKEN]),
      TOKEN,
      () => rowsIn(file),
    );
  },
};

/** What a good engineer writes in a week: net/http, group commit, rows of a request in one statement. */
const go: Contender = {
  name: 'go',
  title: 'Go + SQLite, FULL, group commit',
  lacks: () =>
    fs.existsSync(`${GO_PATH}/src/github.com/json-iterator/go`) &&
    fs.existsSync(`${GO_PATH}/src/github.com/mattn/go-sqlite3`)
      ? undefined
      : '"apt-get install golang-go golang-github-json-iterator-go-dev golang-github-mattn-go-sqlite3-dev" brings what it needs',
  start: (directory) => {
    const [program, file] = ['peer', 'events.db'].map((name) => path.join(directory, name)) as [
      string,
      string,
    ];
    const env = { ...process.env, GO111MODULE: 'off', GOPATH: GO_PATH, GOFLAGS: '' };
    const built = spawnSync('go', ['build', '-o', program, path.join(HERE, 'servers/sqlite.go')], {
      env,
      encoding: 'utf8',
    });
    if (built.status !== 0) throw new Error(`go build: ${built.stderr}`);
    return runningOf(new Child(program, [file, TOKEN]), TOKEN, () => rowsIn(file));
  },
};

/** Its log is synced at every write. It does not recognise an event that is sent again. */
const influxdb: Contender = {
  name: 'influxdb',
  title: 'InfluxDB 1.x, fsync at every write',
  lacks: () =>
    spawnSync('influxd', ['version'], { encoding: 'utf8' }).stdout?.startsWith('InfluxDB v1.')
      ? undefined
      : '"apt-get install influxdb" brings it',
  async start(directory) {
    const port = 20_000 + Math.floor(Math.random() * 20_000);
    const config = path.join(directory, 'influxdb.conf');
    fs.writeFileSync(
      config,
      `reporting-disabled = true\nbind-address = "127.0.0.1:${port + 1}"\n[meta]\ndir = "${directory}/meta"\n[data]\ndir = "${directory}/data"
wal-dir = "${directory}/wal"\nwal-fsync-delay = "0s"\nquery-log-enabled = false\n[monitor]\nstore-enabled = false\n[http]
bind-address = "127.0.0.1:${port}"\nlog-enabled = false\n`,
    );
    const child = new Child('influxd', ['-config', config]);
    const create = () =>
      fetch(`http://127.0.0.1:${port}/query?q=CREATE+DATABASE+bench`, { method: 'POST' }).catch(
        () => undefined,
      );
    while ((await create())?.ok !== true) {
      if (child.hasEnded) child.fail();
      await sleep(50);
    }
    const target = { port, path: '/write?db=bench&precision=ns', token: '', format: 'lines' } as const;
    return { child, target, events: 0, finish: () => child.stop() };
  },
};

async function runningOf(
  child: Child,
  token: string,
  stored: () => number | Promise<number>,
): Promise<Running> {
  const target = { port: await child.port(), path: '/v1/events', token, format: 'json' } as const;
  const running: Running = {
    child,
    target,
    events: 0,
    async finish() {
      await child.stop();
      const held = await stored();
      if (held < running.events)
        throw new Error(`${held} events are stored, and ${running.events} were acknowledged.`);
    },
  };
  return running;
}

function rowsIn(file: string): number {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare<[], number>('SELECT count(*) FROM event').pluck().get()!;
  } finally {
    db.close();
  }
}
