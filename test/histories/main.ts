import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildDisk } from './disk.ts';
import { PLANTS } from './plants.ts';

/**
 * A simulation of the store: `npm run histories -- [--seconds N] [--seed S] [--plant FAULT] [--list]`. ../README.md says how it works, and
 * what it cannot see. The last line is `histories N, violations V, seed S`; the exit status is 1 if there is a violation. With a seed
 * alone it plays that history, twice.
 */

/** A history takes milliseconds: one that is not over by then does not end. */
const STUCK_MS = 240_000;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string' },
    seed: { type: 'string' },
    plant: { type: 'string', default: '' },
    list: { type: 'boolean' },
  },
});
if (values.list) for (const { name, what } of PLANTS) console.log(`${name.padEnd(24)} ${what}`);
else process.exitCode = (await run()) ? 0 : 1;

/** @returns whether nothing was violated. */
async function run(): Promise<boolean> {
  const { seed = String(Math.floor(Math.random() * 2 ** 31)), plant } = values;
  const isOne = values.seed !== undefined && values.seconds === undefined;
  const count = isOne ? 1 : os.availableParallelism();
  const library = buildDisk();
  const memory = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();
  const folder = fs.mkdtempSync(path.join(memory, 'courtd-histories-'));
  const env = { ...process.env, NODE_OPTIONS: '', LD_PRELOAD: library, HISTORIES_PLANT: plant };
  const players = Array.from({ length: count }, (_, i) => {
    const root = path.join(folder, String(i));
    fs.mkdirSync(root);
    const time = isOne ? [] : [String(count), values.seconds ?? '60'];
    return start([library, root, String(Number(seed) + i), ...time], env);
  });
  const startedAt = performance.now();
  // A planted fault has to be found once.
  const ended = players.map(async (player) => {
    const played = await end(player);
    if (played.isViolated && plant !== '') for (const other of players) other.kill();
    return played;
  });
  const all = await Promise.all(ended);
  fs.rmSync(folder, { recursive: true, force: true });
  const histories = all.reduce((sum, { histories }) => sum + histories, 0);
  const violations = all.filter(({ isViolated }) => isViolated).length;
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(`${(histories / seconds).toFixed(1)} histories a second, on ${count} processors`);
  console.log(`histories ${histories}, violations ${violations}, seed ${seed}`);
  return violations === 0;
}

function start(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  return spawn(process.execPath, ['--import', here('preload.ts'), here('player.ts'), ...args], {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

/** Waits for the end of a player. */
async function end(player: ChildProcess): Promise<{ histories: number; isViolated: boolean }> {
  let histories = 0;
  let seed: number | undefined;
  const stuck = setTimeout(() => player.kill('SIGKILL'), STUCK_MS);
  player.on('message', (begun: number) => {
    stuck.refresh();
    if (begun !== seed) histories++;
    seed = begun;
  });
  // What it has sent last may come after its end.
  const [[status, signal]] = await Promise.all([once(player, 'exit'), once(player, 'disconnect')]);
  clearTimeout(stuck);
  // Not by `run`, which ends it with SIGTERM.
  if (status !== 0 && status !== 1 && signal !== 'SIGTERM')
    console.log(`seed ${seed}: it ended with ${signal ?? status}`);
  return { histories, isViolated: status !== 0 && signal !== 'SIGTERM' };
}
