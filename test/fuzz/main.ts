import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { Daemon } from '../harness/daemon.ts';
import { untilExit } from '../harness/untilExit.ts';
import { fuzzCase } from './case.ts';
import { FUZZ_ARGS, Fuzzer } from './fuzzer.ts';

/**
 * `npx node test/fuzz/main.ts [--seconds N] [--seed S]` sends edited rows of the wire table to a courtd of its own. A failure is shrunk,
 * and its bytes are printed with the seed that leads to it. Exit status 1 if there is one.
 */

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: `${Date.now() % 2 ** 31}` },
  },
});
const seed = Number(values.seed);
const daemon = await Daemon.start(untilExit, FUZZ_ARGS);
const fuzzer = new Fuzzer(daemon);
const property = fc.asyncProperty(fuzzCase, (fuzzed) => fuzzer.try(fuzzed));
const interruptAfterTimeLimit = Number(values.seconds) * 1_000;
const found = await fc.check(property, { seed, numRuns: 1e9, interruptAfterTimeLimit });
console.log(`Seed ${seed}, ${fuzzer.cases} cases: ${JSON.stringify(fuzzer.answers)}.`);
if (found.failed) console.log(`Path ${found.counterexamplePath}: ${found.errorInstance}`);
else await fuzzer.ledger.compare(daemon);
process.exit(found.failed ? 1 : 0);
