import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { BIN, cleanEnvironment, Daemon, start, temporaryFolder } from '../harness/daemon.ts';
import { ROOT } from '../harness/documents.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { missingPrograms } from '../harness/needs.ts';

/** The dashboard without Grafana: its queries as Grafana sends them, to a Prometheus that collects the metrics of a box in play. */

runInProcess();

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly instant?: boolean }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { name: string; query: string | { query: string } }[] };
}

interface Query {
  readonly panel: string;
  readonly expr: string;
  readonly isInstant: boolean;
}

const FILE = path.join(ROOT, 'systemd/grafana/courtd.json');
const LABEL_VALUES = /^label_values\((.+), (\w+)\)$/;
const REGEX_CHARACTERS = /[$^*{}[\]+?.()|]/g;
/** A name that is no regular expression for itself. */
const COURT = 'Platz 3 (Süd)';
const STOPPED = 'courtd';
/** What has not shown anything by then never will. A clock is known after two minutes. */
const SCRAPES = 200;
/** A box without TLS has none: test/http/tls/failures.test.ts has them. */
const WITH_TLS = /tls_handshake/;
const LOOK_MS = 200;

const missing = missingPrograms({ prometheus: 'prometheus' });

t.test(
  'the dashboard: each panel shows numbers while a box is in play, and that it runs no longer than it does',
  { skip: missing ?? false },
  async (t) => {
    const dashboard = JSON.parse(fs.readFileSync(FILE, 'utf8')) as Dashboard;
    const daemon = await Daemon.start(t);
    t.equal((await daemon.command('backup', temporaryFolder(t))).status, 0);
    simulate(t, daemon);
    const box = await servedMetrics(t, daemon);
    const prometheus = await Prometheus.start(t, box.port);
    const play = async () => {
      await daemon.post(event({ court_id: COURT, eot: new Date().toISOString() }));
      await daemon.post(event(), { Authorization: 'Bearer nothing' });
      await sleep(LOOK_MS);
    };

    const courts = [COURT, 'court-1', 'court-2'];
    let values: Record<string, string[]> = {};
    while (!courts.every((court) => values.court?.includes(court)) && box.scrapes() < SCRAPES) {
      await play();
      values = await prometheus.variables(dashboard);
    }
    t.strictSame(values, { instance: [`127.0.0.1:${box.port}`], court: courts });

    let empty = queriesOf(dashboard, values).filter(({ expr }) => !WITH_TLS.test(expr));
    t.ok(empty.length > courts.length * 4, `${empty.length} queries`);
    while (empty.length > 0 && box.scrapes() < SCRAPES) {
      await play();
      const shown = await Promise.all(empty.map((query) => prometheus.shows(query)));
      empty = empty.filter((_, i) => !shown[i]);
    }
    t.strictSame(empty, []);

    await daemon.stop();
    const [runs] = queriesOf(dashboard, values).filter(({ panel }) => panel === STOPPED);
    while ((await prometheus.shows(runs!)) && box.scrapes() < SCRAPES * 2) await sleep(LOOK_MS);
    t.notOk(await prometheus.shows(runs!), `"${STOPPED}" shows a box that has stopped`);
  },
);

function simulate(t: Test, { port, token }: Daemon): void {
  const child = start(BIN, ['simulate', '--url', `http://127.0.0.1:${port}`], {
    env: cleanEnvironment({ COURTD_TOKEN: token }),
  });
  child.stdout.resume();
  child.stderr.resume();
  const ended = once(child, 'close');
  t.teardown(() => {
    child.kill('SIGKILL');
    return ended;
  });
}

/** Stands in for node_exporter (promtool.proof.ts has that): the daemon writes its file four times a minute only. */
async function servedMetrics(t: Test, daemon: Daemon): Promise<{ port: number; scrapes: () => number }> {
  let scrapes = 0;
  const server = http.createServer((_request, response) => {
    scrapes++;
    // Its file goes with the daemon.
    const hasEnded = daemon.child.exitCode !== null;
    const text = hasEnded ? Promise.resolve('') : daemon.command('metrics').then(({ stdout }) => stdout);
    void text.then((all) => response.setHeader('Content-Type', 'text/plain; version=0.0.4').end(all));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, scrapes: () => scrapes };
}

/** @returns what the panels ask, those of a court for each court. */
function queriesOf({ panels }: Dashboard, { instance, court }: Record<string, string[]>): Query[] {
  return panels.flatMap(({ title, targets = [] }) =>
    targets.flatMap(({ expr, instant: isInstant = false }) =>
      (expr.includes('$court') ? court! : ['']).map((one) => {
        const variables = { instance: instance![0]!, court: escaped(one) };
        return { panel: title, expr: filled(expr, variables), isInstant };
      }),
    ),
  );
}

function filled(text: string, variables: Record<string, string>): string {
  return text.replaceAll(/\$(\w+)/g, (_, name: string) => variables[name]!);
}

/** As Grafana writes a value of a variable that can have several, also where it has one (interpolateQueryExpr() of @grafana/prometheus). */
function escaped(value: string): string {
  return value.replaceAll(REGEX_CHARACTERS, '\\\\$&');
}

class Prometheus {
  readonly #url: string;

  private constructor(url: string) {
    this.#url = url;
  }

  /** Starts one that collects from a port each second. */
  static async start(t: Test, target: number): Promise<Prometheus> {
    const folder = temporaryFolder(t);
    const file = path.join(folder, 'prometheus.yml');
    const scrape = {
      job_name: 'courtd',
      scrape_interval: '1s',
      static_configs: [{ targets: [`127.0.0.1:${target}`] }],
    };
    // YAML includes JSON.
    fs.writeFileSync(file, JSON.stringify({ scrape_configs: [{ ...scrape, scrape_timeout: '1s' }] }));
    const args = [
      `--config.file=${file}`,
      `--storage.tsdb.path=${folder}/data`,
      '--web.listen-address=127.0.0.1:0',
    ];
    const child = start('prometheus', args);
    const ended = once(child, 'close');
    t.teardown(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    child.stdout.resume();
    const said: string[] = [];
    const port = await new Promise<string>((resolve, reject) => {
      readline.createInterface(child.stderr).on('line', (line) => {
        said.push(line);
        const [, port] = /"Listening on".* address=\S+:(\d+)/.exec(line) ?? [];
        if (port !== undefined) resolve(port);
      });
      void ended.then(() => reject(new Error(`prometheus ended: ${said.join('\n')}`)));
    });
    return new Prometheus(`http://127.0.0.1:${port}/api/v1`);
  }

  /** @returns the values of each variable that has a query, as Grafana asks for them. */
  async variables({ templating }: Dashboard): Promise<Record<string, string[]>> {
    const values: Record<string, string[]> = {};
    for (const { name, query } of templating.list) {
      if (typeof query === 'string') continue;
      const [, series, label] = LABEL_VALUES.exec(query.query)!;
      const match = filled(series!, { instance: values.instance?.[0] ?? '' });
      values[name] = await this.#ask<string[]>(`label/${label}/values`, { 'match[]': match });
    }
    return values;
  }

  /** @returns whether it has a number. */
  async shows({ expr, isInstant }: Query): Promise<boolean> {
    const now = Date.now() / 1_000;
    const [path, when] = isInstant
      ? ['query', { time: now }]
      : ['query_range', { start: now - 300, end: now, step: 1 }];
    type Series = { readonly value?: [number, string]; readonly values?: [number, string][] };
    const { result } = await this.#ask<{ result: Series[] }>(path, { query: expr, ...when });
    const samples = result.flatMap(({ value, values = [value!] }) => values);
    return samples.some(([, value]) => Number.isFinite(Number(value)));
  }

  /** @throws {Error} with what Prometheus says against it. */
  async #ask<Data>(what: string, query: Record<string, string | number>): Promise<Data> {
    const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
    const answer = await (await fetch(`${this.#url}/${what}?${search}`)).json();
    const { status, data, error } = answer as { status: string; data: Data; error?: string };
    if (status !== 'success') throw new Error(`${search.get('query')}: ${error}`);
    return data;
  }
}
