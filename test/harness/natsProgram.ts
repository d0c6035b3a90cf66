import fs from 'node:fs';
import path from 'node:path';
import { run } from './daemon.ts';

/**
 * nats-server, which Debian has in a version that keeps what it acknowledges (2.11 or newer) in unstable only. The package is
 * fetched with lists of its own, which leave the machine's as they are, and unpacked: the program needs nothing but libc.
 */

const CACHE = path.resolve(import.meta.dirname, '../../node_modules/.cache/courtd-nats');
const PROGRAM = path.join(CACHE, 'nats-server');
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const MIRROR = 'http://deb.debian.org/debian';
/** Of each program that takes part: the lists are 11 MB, the package 5 MB. */
const STEP_MS = 120_000;

/**
 * Fetches the program if it has not been fetched yet.
 * @returns its path.
 * @throws {Error} if it is not available: there is no apt, no network, or the mirror does not answer.
 */
export async function natsProgram(): Promise<string> {
  if (fs.existsSync(PROGRAM)) return PROGRAM;
  fs.mkdirSync(CACHE, { recursive: true });
  // A folder of its own: several tests may begin at once.
  const folder = fs.mkdtempSync(path.join(CACHE, 'fetch-'));
  try {
    await fetchInto(folder);
    fs.renameSync(path.join(folder, 'tree/usr/sbin/nats-server'), PROGRAM);
    return PROGRAM;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns why the program cannot be had here; false if it can. CI is told by the failure of what needs it. */
export async function missingNats(): Promise<string | false> {
  try {
    await natsProgram();
    return false;
  } catch (error) {
    if (process.env.CI === 'true') return false;
    return `nats-server cannot be had: ${(error as Error).message}`;
  }
}

async function fetchInto(folder: string): Promise<void> {
  const list = path.join(folder, 'sid.list');
  fs.writeFileSync(list, `deb [signed-by=${KEYRING}] ${MIRROR} sid main\n`);
  fs.mkdirSync(path.join(folder, 'lists/partial'), { recursive: true });
  fs.mkdirSync(path.join(folder, 'cache/archives/partial'), { recursive: true });
  const settings = {
    'Dir::Etc::sourcelist': list,
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State::lists': path.join(folder, 'lists'),
    'Dir::Cache': path.join(folder, 'cache'),
    'Acquire::Languages': 'none',
    'Acquire::Retries': '3',
    'APT::Sandbox::User': 'root',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  await step('apt-get', [...options, 'update'], folder);
  await step('apt-get', [...options, 'download', 'nats-server'], folder);
  const deb = fs.readdirSync(folder).find((name) => name.endsWith('.deb'));
  if (deb === undefined) throw new Error('apt-get downloaded no package');
  await step('dpkg', ['-x', deb, 'tree'], folder);
  const { status, stdout } = await run(path.join(folder, 'tree/usr/sbin/nats-server'), ['--version']);
  if (status !== 0 || !stdout.includes('nats-server')) throw new Error('nats-server does not run here');
}

async function step(program: string, args: readonly string[], cwd: string): Promise<void> {
  const { status, stdout, stderr } = await run(program, args, {
    cwd,
    timeout: STEP_MS,
    killSignal: 'SIGKILL',
  });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${(stderr || stdout).trim()}`);
}

if (import.meta.main) console.log(await natsProgram());
