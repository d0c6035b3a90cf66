import path from 'node:path';
import Database from 'better-sqlite3';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import type { WireEvent } from '../../../src/protocol/eventSchema.ts';
import { openDatabase } from '../../../src/store/open/openDatabase.ts';
import {
  BIN,
  type Cleanup,
  type CommandResult,
  cleanEnvironment,
  courtd,
  start,
} from '../../harness/daemon.ts';
import { Committer, court } from '../../harness/scratchStore.ts';

/** A box that ships: a data directory, and shippers of it. */
export class Box {
  readonly data: string;
  readonly #t: Cleanup;
  /** COURTD_SHIP_ variables. */
  readonly env: Record<string, string>;

  constructor(t: Cleanup, data: string, env: Record<string, string>) {
    this.#t = t;
    this.data = data;
    this.env = env;
    this.put();
  }

  /** Stores events without a daemon. */
  put(...events: WireEvent[]): void {
    const db = openDatabase(new DataDirectory(this.data), { create: true });
    try {
      if (events.length > 0) new Committer(db).append(...court(...events));
    } finally {
      db.close();
    }
  }

  /** Runs SQL on its database. */
  sql(text: string): void {
    const db = new Database(path.join(this.data, 'courtd.db'), { timeout: 5_000 });
    db.exec(text);
    db.close();
  }

  command(...args: string[]): Promise<CommandResult> {
    return courtd([...args, '--data', this.data], this.env);
  }

  once(...args: string[]): Promise<CommandResult> {
    return this.command('ship', '--once', ...args);
  }

  async status(): Promise<Record<string, unknown>> {
    const { status, stdout, stderr } = await this.command('ship', 'status', '--json');
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout);
  }

  /** @returns the lines of `tail --json --after`. */
  async lines(after = 0): Promise<string[]> {
    const { stdout } = await this.command('tail', '--json', '--after', String(after));
    return stdout === '' ? [] : stdout.split(/(?<=\n)/);
  }

  /** Starts a shipper that goes on; it is killed after the test if it is still there. */
  ship(...args: string[]): RunningShipper {
    return new RunningShipper(this.#t, [...args, '--data', this.data], this.env);
  }
}

/** `courtd ship --json` in a process of its own. */
export class RunningShipper {
  readonly pid: number;
  /** Its exit status; null where a signal ended it. */
  readonly exited: Promise<number | null>;
  readonly #child: ReturnType<typeof start>;
  #stdout = '';
  #stderr = '';
  #changed = Promise.withResolvers<void>();

  constructor(t: Cleanup, args: readonly string[], env: Record<string, string>) {
    const child = start(BIN, ['ship', '--json', ...args], { env: cleanEnvironment(env) });
    this.#child = child;
    this.pid = child.pid!;
    const wake = () => {
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    };
    child.stdout.on('data', (text) => {
      this.#stdout += text;
      wake();
    });
    child.stderr.on('data', (text) => {
      this.#stderr += text;
      wake();
    });
    this.exited = new Promise((resolve) => {
      child.once('close', (status) => {
        resolve(status);
        wake();
      });
    });
    t.teardown(() => {
      child.kill('SIGKILL');
      return this.exited;
    });
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Every change that it has told so far. */
  get reports(): Record<string, unknown>[] {
    return this.#stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  /** @returns the first report that fits, as soon as it is there. @param from of the reports. */
  async report(
    fits: (report: Record<string, unknown>) => boolean,
    from = 0,
  ): Promise<Record<string, unknown>> {
    for (;;) {
      const found = this.reports.slice(from).find(fits);
      if (found !== undefined) return found;
      if (this.#child.exitCode !== null)
        throw new Error(`the shipper ended with ${this.#child.exitCode}: ${this.#stderr}`);
      await this.#changed.promise;
    }
  }

  /** @returns a state, as soon as it is in it. */
  state(state: string, from = 0): Promise<Record<string, unknown>> {
    return this.report((report) => report.state === state, from);
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.#child.kill(signal);
    return this.exited;
  }
}
