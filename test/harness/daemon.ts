import { type ChildProcessByStdio, type ExecFileOptions, execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { TOKEN_GRACE_S } from '../../src/base/limits.ts';
import { withDatabase } from '../../src/store/db/openDatabase.ts';
import { rotateToken } from '../../src/store/tokens/tokens.ts';
import { BoxClient } from './boxClient.ts';
import { Lines } from './lines.ts';
import { serveArguments } from './transport.ts';

/** The real program in a process of its own, on a port of its own, with its data in a temporary folder. */

export let BIN = path.resolve(import.meta.dirname, '../../bin/courtd');

/** From now on BIN is this copy of the program (openProgram.ts). */
export function useProgram(bin: string): void {
  BIN = bin;
}

/** What of tap's `t` is needed to clean up. */
export interface Cleanup {
  teardown(end: () => unknown): void;
}

export interface CommandResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** @returns an empty folder that is removed after the test. */
export function temporaryFolder(t: Cleanup): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-test-'));
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Runner = (args: readonly string[], env: Record<string, string>) => Promise<CommandResult> | undefined;
let runner: Runner | undefined;

/** From now on commands are run by this, if it runs them at all (inProcess.ts). */
export function runCommandsWith(given: Runner): void {
  runner = given;
}

/** Runs one command to its end. The environment holds no COURTD_ variable but those given. */
export function courtd(args: readonly string[], env: Record<string, string> = {}): Promise<CommandResult> {
  return runner?.(args, env) ?? run(BIN, args, { env: cleanEnvironment(env) });
}

/** Makes a token as `courtd token rotate` does, and a database if there is none; without a process, or a look at systemd. */
async function newToken(data: string): Promise<string> {
  const rotate = { data: new DataDirectory(data) };
  const { token } = await withDatabase(rotate, (db) => rotateToken(db, TOKEN_GRACE_S, Date.now()), {
    create: true,
  });
  return token;
}

type Server = (args: readonly string[], env: NodeJS.ProcessEnv) => Child;
let server: Server | undefined;

/** From now on a daemon of this program, with nothing in front of it, is started by this (servingAgain.ts). */
export function serveWith(given: Server): void {
  server = given;
}

/**
 * What takes tap out of a child's environment, where tap puts itself behind our backs: its hooks would handle
 * signals and the end of the process in ways of their own, and take a third of a second. `env` leaves no process.
 */
const WITHOUT_TAP = ['-u', 'NODE_OPTIONS'];

export type Child = ChildProcessByStdio<null, Readable, Readable>;

/** Starts any program. */
export function start(program: string, args: readonly string[], options: ExecFileOptions = {}): Child {
  const child = spawn('env', [...WITHOUT_TAP, program, ...args], {
    env: cleanEnvironment(),
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return child as Child;
}

/** Runs any program to its end. */
export function run(
  program: string,
  args: readonly string[],
  options: ExecFileOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const all = { env: cleanEnvironment(), maxBuffer: 1 << 30, ...options, encoding: 'utf8' } as const;
    const child = execFile('env', [...WITHOUT_TAP, program, ...args], all, (_error, stdout, stderr) => {
      resolve({ status: child.exitCode, stdout, stderr });
    });
  });
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A line of the log: by its message, or by whatever it says. */
type Wanted = string | RegExp | ((line: LogLine) => boolean);

function finder(wanted: Wanted): (line: LogLine) => boolean {
  if (typeof wanted === 'function') return wanted;
  return ({ msg }) => (typeof wanted === 'string' ? msg === wanted : wanted.test(msg));
}

export class Daemon {
  readonly data: string;
  readonly token: string;
  readonly port: number;
  readonly child: Child;
  /** Its exit status, once its last line is in the log; null if a signal ended it. */
  readonly exited: Promise<number | null>;
  readonly #log: Lines<LogLine>;
  readonly #client: BoxClient;

  private constructor(
    fields: Pick<Daemon, 'data' | 'token' | 'port' | 'child' | 'exited'>,
    log: Lines<LogLine>,
  ) {
    this.data = fields.data;
    this.token = fields.token;
    this.port = fields.port;
    this.child = fields.child;
    this.exited = fields.exited;
    this.#log = log;
    this.#client = new BoxClient(fields.port);
  }

  /** Starts it and waits until it listens; it is ended after the test if it is still there. */
  static async start(
    t: Cleanup,
    args: readonly string[] = [],
    data = temporaryFolder(t),
    env: Record<string, string> = {},
  ): Promise<Daemon> {
    return Daemon.run(t, data, await newToken(data), args, env);
  }

  /**
   * Starts it on a data directory that is there.
   * @param under a program, with its arguments, that starts it in its own place.
   * @param bin another version of courtd.
   */
  static async run(
    t: Cleanup,
    data: string,
    token: string,
    args: readonly string[] = [],
    env: Record<string, string> = {},
    under: readonly string[] = [],
    bin = BIN,
  ): Promise<Daemon> {
    const serve = ['serve', '--host', '127.0.0.1', '--port', '0', '--data', data, ...serveArguments()];
    const [program = bin, ...all] = [...under, bin, ...serve, ...args];
    const own = program === BIN ? server : undefined;
    const environment = cleanEnvironment(env);
    const child = own?.(all, environment) ?? start(program, all, { env: environment });
    const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
    let daemon: Daemon | undefined;
    t.teardown(() => {
      if (daemon !== undefined) daemon.#client.hangUp();
      child.kill(own === undefined ? 'SIGKILL' : 'SIGTERM');
      return exited;
    });
    let errors = '';
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    const log = new Lines(child.stdout, (text) => JSON.parse(text) as LogLine);
    const listening = await log.find(finder('listening')).catch(() => undefined);
    if (listening === undefined) throw new Error(`courtd serve ended with ${await exited}: ${errors}`);
    daemon = new Daemon({ data, token, port: listening.port as number, child, exited }, log);
    return daemon;
  }

  /** Every line it has logged so far. */
  get log(): readonly LogLine[] {
    return this.#log.all;
  }

  /** @returns the first such line of its log, from the given one on, as soon as it is there. */
  logged(wanted: Wanted, from = 0): Promise<LogLine> {
    return this.#log.find(finder(wanted), from, wanted);
  }

  /** @returns how many such lines are in its log by now. */
  timesLogged(wanted: Wanted): number {
    return this.log.filter(finder(wanted)).length;
  }

  /** Posts a body with its token. @param onStatus see BoxClient. */
  post(
    body: unknown,
    headers: Record<string, string> = {},
    onStatus?: (status: number) => void,
  ): Promise<Response> {
    return this.#client.post(body, { Authorization: `Bearer ${this.token}`, ...headers }, onStatus);
  }

  /** The most memory that it has had, in MiB. */
  get peakMib(): number {
    return Number(/VmHWM:\s+(\d+)/.exec(this.#proc('status'))?.[1]) / 1024;
  }

  /** The bytes that it has read so far, from files and connections, out of the page cache or not. */
  get bytesRead(): number {
    return Number(/^rchar: (\d+)$/m.exec(this.#proc('io'))?.[1]);
  }

  #proc(file: string): string {
    return fs.readFileSync(`/proc/${this.child.pid}/${file}`, 'utf8');
  }

  /** Runs a command on its data directory. */
  command(...args: string[]): Promise<CommandResult> {
    return courtd([...args, '--data', this.data]);
  }

  /** @returns the events of a session as `courtd export --format ndjson` writes them, one text each. */
  async exported(session: string): Promise<string[]> {
    const { status, stdout, stderr } = await this.command('export', session, '--format', 'ndjson');
    if (status !== 0) throw new Error(stderr);
    return stdout.split('\n').slice(0, -1);
  }

  /** Stops it with a signal. @returns its exit status. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.#client.hangUp();
    this.child.kill(signal);
    return this.exited;
  }
}

/** Node keeps what it has compiled: each of some hundred starts takes half the processor time. */
const COMPILED = path.resolve(import.meta.dirname, '../../node_modules/.cache/courtd-test');

/** @returns this process's environment without what would change how courtd works, and with what is given. */
export function cleanEnvironment(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(COURTD_|NODE_OPTIONS|TAP)/.test(name));
  return { ...Object.fromEntries(own), NODE_COMPILE_CACHE: COMPILED, ...more };
}
