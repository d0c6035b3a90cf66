import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { DataDirectory } from '../../../src/base/dataDirectory.ts';
import { viewShip } from '../../../src/fleet/report/shipReport.ts';
import type { ShipStatus } from '../../../src/health/boxStatus.ts';
import type { WireEvent } from '../../../src/protocol/eventSchema.ts';
import { openDatabase } from '../../../src/store/db/openDatabase.ts';
import { readShipLag } from '../../../src/store/read/shipLag.ts';
import {
  BIN,
  type Cleanup,
  type CommandResult,
  cleanEnvironment,
  courtd,
  Daemon,
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
    this.env = { COURTD_RUN_DIR: `${data}.run`, ...env };
    t.teardown(() => fs.rmSync(`${data}.run`, { recursive: true, force: true }));
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

  /** Erases a player, by a daemon that runs for that long. */
  async erase(player: string): Promise<CommandResult> {
    const daemon = await Daemon.start(this.#t, [], this.data);
    const result = await this.command('player', 'erase', player, '--yes');
    await daemon.stop();
    return result;
  }

  /** Begins an epoch. @returns its name. */
  async newEpoch(): Promise<string> {
    const { status, stdout, stderr } = await this.command('ship', '--new-epoch');
    if (status !== 0) throw new Error(stderr);
    return stdout.trim();
  }

  /** @returns `ship` of `status --json`, as the daemon has it. */
  async status(): Promise<ShipStatus> {
    const directory = new DataDirectory(this.data);
    const db = openDatabase(directory);
    try {
      return viewShip(directory, (shippedOf) => readShipLag(db, shippedOf), this.env)!;
    } finally {
      db.close();
    }
  }

  /** Removes what the shipper has reported, as a restart of the machine does. */
  forgetReport(): void {
    fs.rmSync(path.join(this.env.COURTD_RUN_DIR!, 'ship'), { recursive: true, force: true });
  }

  /** @returns the lines of `tail --json --after`. */
  async lines(after = 0): Promise<string[]> {
    const { stdout } = await this.command('tail', '--json', '--after', String(after));
    return stdout === '' ? [] : stdout.split(/(?<=\n)/);
  }

  /** Starts a shipper that runs on; it is killed after the test if it still runs. */
  ship(...args: string[]): RunningShipper {
    return new RunningShipper(this.#t, [...args, '--data', this.data], this.env);
  }
}

/** `courtd ship` in a process of its own. */
export class RunningShipper {
  readonly pid: number;
  /** Its exit status; null if a signal ended it. */
  readonly exited: Promise<number | null>;
  readonly #child: ReturnType<typeof start>;
  readonly #watcher: fs.FSWatcher;
  readonly #file: string;
  readonly #reports: Record<string, unknown>[] = [];
  #stderr = '';
  #changed = Promise.withResolvers<void>();

  constructor(t: Cleanup, args: readonly string[], env: Record<string, string>) {
    const folder = path.join(env.COURTD_RUN_DIR!, 'ship');
    fs.mkdirSync(folder, { recursive: true });
    this.#file = path.join(folder, 'ship.json');
    fs.rmSync(this.#file, { force: true });
    const wake = () => {
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    };
    this.#watcher = fs.watch(folder, () => {
      if (this.#look()) wake();
    });
    const child = start(BIN, ['ship', ...args], { env: cleanEnvironment(env) });
    this.#child = child;
    this.pid = child.pid!;
    child.stdout.resume();
    child.stderr.on('data', (text) => {
      this.#stderr += text;
    });
    this.exited = new Promise((resolve) => {
      child.once('close', (status) => {
        this.#watcher.close();
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

  /** What has been seen of its reports so far: the last one for certain. */
  get reports(): readonly Record<string, unknown>[] {
    this.#look();
    return this.#reports;
  }

  /** @returns whether there is another report. */
  #look(): boolean {
    const text = fs.existsSync(this.#file) ? fs.readFileSync(this.#file, 'utf8') : '';
    const { at: _, ...report } = text === '' ? { at: '' } : JSON.parse(text);
    const isNew = text !== '' && JSON.stringify(report) !== JSON.stringify(this.#reports.at(-1));
    if (isNew) this.#reports.push(report);
    return isNew;
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
