import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, Option } from 'commander';
import { integer } from '../../src/cli/options/optionParsers.ts';
import { buildDisk } from './disk.ts';
import { PLANTS } from './plants.ts';
import type { Found, Told } from './player.ts';

/**
 * A simulation of the store: `npm run histories -- [--seconds N] [--seed S] [--plant FAULT] [--list]`. ../README.md says how it works, and
 * what it cannot see. The last line is `histories N, violations V, seed S`; the exit status is 1 if there is a violation.
 */

/** A history takes milliseconds: one that is not over by then does not end. */
const STUCK_MS = 240_000;
const FOUND_MAX = 5;
const LOG_LINES = 60;

interface Options {
  readonly seconds?: number;
  readonly seed?: number;
  readonly plant?: string;
  readonly list?: true;
}

const options = new Command('npm run histories --')
  .description('plays histories of the store, and holds what is left of each against what was acknowledged')
  .addOption(
    new Option(
      '--seconds <number>',
      'how long (default: 60, with a seed alone: that history, twice)',
    ).argParser(integer(1, 10_000_000)),
  )
  .addOption(
    new Option('--seed <number>', 'where it begins; the same one is the same history').argParser(
      integer(0, Number.MAX_SAFE_INTEGER),
    ),
  )
  .addOption(
    new Option('--plant <fault>', 'with a fault in the store').choices(PLANTS.map(({ name }) => name)),
  )
  .option('--list', 'names the faults that can be planted')
  .parse()
  .opts<Options>();

if (options.list) for (const { name, what } of PLANTS) console.log(`${name.padEnd(24)} ${what}`);
else process.exitCode = (await run(options)) ? 0 : 1;

/** @returns whether nothing was violated. */
async function run({
  seconds,
  seed = Math.floor(Math.random() * 2 ** 32),
  plant,
}: Options): Promise<boolean> {
  const library = buildDisk();
  const folder = fs.mkdtempSync(
    path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'courtd-histories-'),
  );
  const isOne = options.seed !== undefined && seconds === undefined;
  const count = isOne ? 1 : os.availableParallelism();
  const found: Found[] = [];
  let [begun, histories] = [0, 0];
  const startedAt = performance.now();
  try {
    const players = Array.from({ length: count }, (_, i) => {
      const root = path.join(folder, String(i));
      fs.mkdirSync(root);
      const [first, step, time] = [seed + i, count, seconds ?? 60].map(String);
      const args = [library, root, first!, ...(isOne ? [] : [step!, time!])];
      return play(
        args,
        library,
        plant,
        (told) => {
          if ('begins' in told) begun++;
          if ('found' in told) {
            found.push(told.found);
            if (found.length <= FOUND_MAX) tell(told.found, plant);
          }
          if ('ended' in told) histories += told.ended;
        },
        () => plant !== undefined && found.length > 0,
      );
    });
    await Promise.all(players);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
  const took = (performance.now() - startedAt) / 1000;
  if (!isOne) console.log(`${(histories / took).toFixed(1)} histories a second, on ${count} processors`);
  if (plant !== undefined && found.length > 0)
    console.log(`${plant}: found after ${took.toFixed(1)} s, ${begun} histories`);
  console.log(`histories ${histories}, violations ${found.length}, seed ${seed}`);
  return found.length === 0;
}

/** Runs a player to its end. @param isEnough whether it may be ended. */
function play(
  args: readonly string[],
  library: string,
  plant: string | undefined,
  on: (told: Told) => void,
  isEnough: () => boolean,
): Promise<void> {
  const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', here('preload.ts'), here('player.ts'), ...args],
    {
      env: { ...process.env, NODE_OPTIONS: '', LD_PRELOAD: library, HISTORIES_PLANT: plant ?? '' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  );
  let seed: number | undefined;
  let hasEnded = false;
  const stuck = setTimeout(() => child.kill('SIGKILL'), STUCK_MS);
  return new Promise((resolve, reject) => {
    child.on('message', (told: Told) => {
      stuck.refresh();
      if ('begins' in told) seed = told.begins;
      if ('ended' in told) hasEnded = true;
      on(told);
      if (isEnough() && !hasEnded) child.kill('SIGTERM');
    });
    // What it has said last may come after its end: both have to be waited for.
    const [exit, end] = [once(child, 'exit'), once(child, 'disconnect')];
    void Promise.all([exit, end]).then(([[code, signal]]) => {
      clearTimeout(stuck);
      if (seed === undefined)
        return reject(new Error(`a process of histories ended with ${signal ?? code} before it began`));
      if (!hasEnded && !isEnough()) {
        const violations = [`the process ended with ${signal ?? code}`];
        on({ found: { seed, violations, log: [], operations: { first: 0, shrunk: 0 } } });
      }
      resolve();
    });
  });
}

function tell({ seed, violations, log, operations }: Found, plant: string | undefined): void {
  console.log(
    `seed ${seed}: ${violations[0]}${violations.length > 1 ? `, and ${violations.length - 1} more` : ''}`,
  );
  if (plant !== undefined) return;
  console.log(`  in short (${operations.shrunk} of ${operations.first} operations):`);
  for (const line of log.slice(-LOG_LINES)) console.log(`    ${line}`);
  console.log(`  again: npm run histories -- --seed ${seed}`);
}
