import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { fuzzCase } from '../fuzz/case.ts';
import { FUZZ_ARGS, Fuzzer } from '../fuzz/fuzzer.ts';
import { Daemon } from '../harness/daemon.ts';
import { runInProcess } from '../harness/inProcess.ts';

runInProcess();

/** A look; test/fuzz/fuzz.proof.ts takes a minute, and `node test/fuzz/main.ts` as long as one likes. */
const CASES = 60;

const seed = randomInt(2 ** 31);

t.test(`whatever is sent gets its answer, and only whole requests are stored (seed ${seed})`, async (t) => {
  const daemon = await Daemon.start(t, FUZZ_ARGS);
  const fuzzer = new Fuzzer(daemon);
  const tried = fc.asyncProperty(fuzzCase, (fuzzed) => fuzzer.try(fuzzed));
  await fc.assert(tried, { seed, numRuns: CASES });
  await fuzzer.look();
  t.ok(fuzzer.cases >= CASES);
  t.equal(await daemon.stop(), 0);
});
