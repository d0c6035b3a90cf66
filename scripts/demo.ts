import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { text } from 'node:stream/consumers';
import { parseArgs, promisify } from 'node:util';

/**
 * `npm run demo`: a temporary box, a venue that sends to it, and `courtd status --watch`; at the end a report of one court. Only the
 * report is kept. It takes --for, --courts, --sport, --rate and --seed of `courtd simulate`, and -o for the report.
 */

const ROOT = path.resolve(import.meta.dirname, '..');
const BIN = path.join(ROOT, 'bin/courtd');
const REPORT = path.join(ROOT, 'data/demo-report.html');
/** How long each process may take to end before it is killed. */
const END_MS = 15_000;
/** npm forwards SIGTERM but not SIGHUP: this script has to check whether npm is still there. */
const PARENT_LOOK_MS = 500;

const { output, sport, flags } = options();
const data = fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-demo-'));
const children: ChildProcess[] = [];
const ended = endOf();
process.once('exit', () => {
  for (const child of children.filter(isRunning)) child.kill('SIGKILL');
  fs.rmSync(data, { recursive: true, force: true });
});

try {
  await demo();
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
// The timer that watches the parent would keep the process alive.
process.exit();

async function demo(): Promise<void> {
  const token = (await courtd('token', 'rotate')).trim();
  const daemon = start(['serve', '--host', '127.0.0.1', '--port', '0', '--data', data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = `http://127.0.0.1:${await portOf(daemon)}`;
  // Nobody reads its log any more, but it must not fill the pipe.
  daemon.stdout!.resume();
  const cameras = start(['simulate', '--url', url, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, COURTD_TOKEN: token },
  });
  const [said, complaints] = [text(cameras.stdout!), text(cameras.stderr!)];
  const camerasEnded = once(cameras, 'close');
  await Promise.race([ended, watch(url), camerasEnded]);
  await end(...children.filter((child) => child !== daemon));
  const [status] = await camerasEnded;
  if (status !== 0) throw new Error(await complaints);
  console.log(`The cameras sent ${(await said).trim()}.`);
  await report();
  await end(daemon);
}

/** Without a terminal there is nothing to draw on. */
async function watch(url: string): Promise<void> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    console.log(
      `A box listens at ${url}, and a venue sends to it. SIGTERM ends the demo; on a terminal it shows the box at work.`,
    );
    return ended;
  }
  const screen = spawn(BIN, ['status', '--watch', '--data', data], { stdio: 'inherit' });
  children.push(screen);
  await once(screen, 'close');
}

/** A page about one court. */
async function report(): Promise<void> {
  const sessions: { session_id: string }[] = JSON.parse(await courtd('session', 'list', '--json'));
  const session = sessions.map(({ session_id }) => session_id).sort()[0];
  if (session === undefined) return;
  if (output === REPORT) fs.mkdirSync(path.dirname(REPORT), { recursive: true });
  await courtd('report', session, '--court-lines', sport, '-o', output);
  console.log(`The report of its first court is ${output}: open it in a browser.`);
}

/** @returns standard output. @throws where the command fails, with what it said. */
async function courtd(...args: string[]): Promise<string> {
  return (await promisify(execFile)(BIN, [...args, '--data', data])).stdout;
}

/** In a process group of its own: Ctrl-C is for this script, which ends them in order. */
function start(args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(BIN, args, { ...options, detached: true });
  children.push(child);
  return child;
}

/** @throws where it ends before it listens. */
async function portOf(daemon: ChildProcess): Promise<number> {
  for await (const line of readline.createInterface(daemon.stdout!)) {
    const { msg, port } = JSON.parse(line);
    if (msg === 'listening') return port;
  }
  throw new Error('the daemon did not start.');
}

async function end(...some: ChildProcess[]): Promise<void> {
  const running = some.filter(isRunning);
  const kill = setTimeout(() => {
    for (const child of running) child.kill('SIGKILL');
  }, END_MS);
  const closed = running.map((child) => once(child, 'exit'));
  for (const child of running) child.kill('SIGTERM');
  await Promise.all(closed);
  clearTimeout(kill);
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** @returns a promise that settles on a signal, or when npm is gone. */
function endOf(): Promise<void> {
  const parent = process.ppid;
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
    setInterval(() => process.ppid !== parent && resolve(), PARENT_LOOK_MS);
  });
}

/** @returns where the report goes, and the flags of simulate. */
function options(): { output: string; sport: string; flags: string[] } {
  const value = { type: 'string' } as const;
  try {
    const { values } = parseArgs({
      options: {
        output: { ...value, short: 'o' },
        for: value,
        courts: value,
        sport: value,
        rate: value,
        seed: value,
      },
    });
    const { output = REPORT, ...simulate } = values;
    return {
      output,
      sport: simulate.sport ?? 'pickleball',
      flags: Object.entries(simulate).map(([name, value]) => `--${name}=${value}`),
    };
  } catch (error) {
    console.error(`demo: ${error instanceof Error ? error.message : error}`);
    process.exit(2);
  }
}
