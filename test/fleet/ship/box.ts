import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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

const LOOK_MS = 20;

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
      return viewShip(directory, (...shipped) => readShipLag(db, ...shipped), this.env)!;
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
  /** Its exit status; null if a signal ended it. */
  readonly exited: Promise<number | null>;
  readonly #child: ReturnType<typeof start>;
  readonly #file: string;
  #stderr = '';

  constructor(t: Cleanup, args: readonly string[], env: Record<string, string>) {
    this.#file = path.join(env.COURTD_RUN_DIR!, 'ship', 'ship.json');
    fs.mkdirSync(path.dirname(this.#file), { recursive: true });
    fs.rmSync(this.#file, { force: true });
    const child = start(BIN, ['ship', ...args], { env: cleanEnvironment(env) });
    this.#child = child;
    child.stdout.resume();
    child.stderr.on('data', (text) => {
      this.#stderr += text;
    });
    this.exited = new Promise((resolve) => child.once('close', resolve));
    t.teardown(() => {
      child.kill('SIGKILL');
      return this.exited;
    });
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** @returns its report, as soon as it fits. */
  async report(fits: (report: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    for (;;) {
      const text = fs.existsSync(this.#file) ? fs.readFileSync(this.#file, 'utf8') : '{}';
      const report = JSON.parse(text);
      if (fits(report)) return report;
      if (this.#child.exitCode !== null)
        throw new Error(`the shipper ended with ${this.#child.exitCode}: ${this.#stderr}`);
      await sleep(LOOK_MS);
    }
  }

  /** @returns its report, as soon as it is in a state. */
  state(state: string): Promise<Record<string, unknown>> {
    return this.report((report) => report.state === state);
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.#child.kill(signal);
    return this.exited;
  }
}
