import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';

/**
 * `npm run demo`: a temporary box, a venue that sends to it, and `courtd status --watch`; at the end a report of one court. Only the
 * report is kept. It takes --for, --courts and --seed of `courtd simulate`, and -o for the report.
 */

const ROOT = path.resolve(import.meta.dirname, '..');
const BIN = path.join(ROOT, 'bin/courtd');
const REPORT = path.join(ROOT, 'data/demo-report.html');
const data = fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-demo-'));
const children: ChildProcess[] = [];
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  fs.rmSync(data, { recursive: true, force: true });
});
const ended = new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
});

try {
  await demo();
} catch (error) {
  const { message, code = '' } = error as NodeJS.ErrnoException;
  console.error(`demo: ${message}`);
  process.exitCode = code.startsWith('ERR_PARSE_ARGS') ? 2 : 1;
}
process.exit();

async function demo(): Promise<void> {
  const value = { type: 'string' } as const;
  const options = {
    output: { ...value, short: 'o', default: REPORT },
    for: value,
    courts: value,
    seed: value,
  } as const;
  const { output, ...flags } = parseArgs({ options }).values;
  const token = courtd('token', 'rotate').trim();
  const daemon = start(
    ['serve', '--host', '127.0.0.1', '--port', '0', '--data', data],
    ['ignore', 'pipe', 'inherit'],
  );
  const url = `http://127.0.0.1:${await portOf(daemon)}`;
  const simulate = [
    'simulate',
    '--url',
    url,
    ...Object.entries(flags).map(([name, given]) => `--${name}=${given}`),
  ];
  const cameras = start(simulate, ['ignore', 'pipe', 'pipe'], { COURTD_TOKEN: token });
  const [said, complaints] = [text(cameras.stdout!), text(cameras.stderr!)];
  const camerasEnded = once(cameras, 'close');
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  if (!isTerminal) console.log(`A box listens at ${url}, and a venue sends to it. SIGTERM ends the demo.`);
  // Ctrl-C ends it too: it is in the process group of the terminal.
  const screen = isTerminal
    ? spawn(BIN, ['status', '--watch', '--data', data], { stdio: 'inherit' })
    : undefined;
  if (screen !== undefined) children.push(screen);
  await Promise.race([ended, camerasEnded, ...(screen === undefined ? [] : [once(screen, 'close')])]);
  screen?.kill();
  cameras.kill();
  const [status] = await camerasEnded;
  if (status !== 0) throw new Error(await complaints);
  console.log(`The cameras sent ${(await said).trim()}.`);
  const sessions: { session_id: string }[] = JSON.parse(courtd('session', 'list', '--json'));
  const [first] = sessions.map(({ session_id }) => session_id).sort();
  fs.mkdirSync(path.dirname(output), { recursive: true });
  courtd('report', first!, '-o', output);
  console.log(`The report of the first court is ${output}. Open it in a browser.`);
  daemon.kill();
  await once(daemon, 'exit');
}

/** @returns standard output. @throws if the command fails, with what it printed. */
function courtd(...args: string[]): string {
  return execFileSync(BIN, [...args, '--data', data], { encoding: 'utf8', stdio: 'pipe' });
}

/** In a process group of its own: Ctrl-C is for this script, which ends them in order. */
function start(
  args: readonly string[],
  stdio: SpawnOptions['stdio'] & object,
  env: object = {},
): ChildProcess {
  const child = spawn(BIN, args, { stdio, env: { ...process.env, ...env }, detached: true });
  children.push(child);
  return child;
}

/** @throws if it ends before it listens. */
async function portOf(daemon: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  // Its log is read to the end, so that it does not fill the pipe.
  readline.createInterface(daemon.stdout!).on('line', (line) => {
    const { msg, port } = JSON.parse(line);
    if (msg === 'listening') resolve(port);
  });
  daemon.once('exit', () => reject(new Error('the daemon did not start.')));
  return promise;
}
