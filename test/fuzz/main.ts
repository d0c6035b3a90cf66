import { randomInt } from 'node:crypto';
import fs from 'node:fs';
import { Command, Option } from 'commander';
import fc from 'fast-check';
import { integer } from '../../src/cli/options/optionParsers.ts';
import { say } from '../../src/cli/terminal/output.ts';
import { Daemon } from '../harness/daemon.ts';
import { Endings } from '../harness/endings.ts';
import { fuzzCase } from './case.ts';
import { FUZZ_ARGS, Fuzzer } from './fuzzer.ts';

/**
 * `npx node test/fuzz/main.ts`: sends requests that were good once to a courtd of its own, for as long as one likes. A
 * failure is shrunk, and its bytes are printed with the seed that leads to it. Exit status 1 where there is one.
 */

interface Options {
  readonly cases?: number;
  readonly seconds?: number;
  readonly seed: number;
}

const options = new Command('npx node test/fuzz/main.ts')
  .description('sends requests that were good once, and looks at what becomes of them')
  .addOption(
    new Option('--cases <number>', 'how many; 2,000 where no time is given').argParser(integer(1, 1e9)),
  )
  .addOption(new Option('--seconds <number>', 'for how long').argParser(integer(1, 1e9)))
  .addOption(
    new Option('--seed <number>', 'what they are made from')
      .default(randomInt(2 ** 31), 'random')
      .argParser(integer(0, 2 ** 31)),
  )
  .parse()
  .opts<Options>();

/** After a warm-up; V8 gives back what it has collected when it likes. */
const GROWTH_MIB = 64;
const WARM_CASES = 1_000;

const endings = new Endings();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(130));
try {
  const daemon = await Daemon.start(endings, FUZZ_ARGS);
  await end((await fuzz(daemon, options)) ? 0 : 1);
} catch (error) {
  say(error instanceof Error ? (error.stack ?? '') : String(error));
  await end(1);
}

async function fuzz(daemon: Daemon, { cases, seconds, seed }: Options): Promise<boolean> {
  say(`Seed ${seed}.`);
  const fuzzer = new Fuzzer(daemon);
  let warmMib = 0;
  const property = fc.asyncProperty(fuzzCase, async (fuzzed) => {
    await fuzzer.try(fuzzed);
    if (fuzzer.cases === WARM_CASES) warmMib = residentMib(daemon);
  });
  const found = await fc.check(property, {
    seed,
    numRuns: cases ?? (seconds === undefined ? 2_000 : 1e9),
    ...(seconds === undefined ? {} : { interruptAfterTimeLimit: seconds * 1000 }),
  });
  say(`${fuzzer.cases} cases: ${JSON.stringify(fuzzer.answers)}.`);
  if (found.failed) {
    say(`Found with seed ${seed}, path ${found.counterexamplePath}: ${found.errorInstance}`);
    return false;
  }
  await fuzzer.look();
  const mib = residentMib(daemon);
  if (warmMib === 0) {
    say(`Memory: ${mib.toFixed(0)} MiB at the end; whether it grows shows after ${WARM_CASES} cases.`);
    return true;
  }
  say(`Memory: ${warmMib.toFixed(0)} MiB after ${WARM_CASES} cases, ${mib.toFixed(0)} MiB at the end.`);
  return mib - warmMib <= GROWTH_MIB;
}

function residentMib({ child }: Daemon): number {
  const status = fs.readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}

async function end(status: number): Promise<never> {
  await endings[Symbol.asyncDispose]();
  process.exit(status);
}
