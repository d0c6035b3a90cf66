import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { type Check, JUDGES, judge, type Verdict } from '../../../src/vendor/conformance/judge.ts';
import { startTestBox } from '../../../src/vendor/conformance/testBox.ts';
import { CarelessCamera } from './carelessCamera.ts';

/**
 * Thirteen cameras, each at a box of its own, all at the same time: one that is careless of nothing, and one for each line of
 * the verdict.
 */

const LOOK_MS = 500;
/** Beside the line that it fails, a camera is seen for so many requests. */
const REQUESTS = 80;
/** A machine that is so slow shows nothing any more. */
const GIVE_UP_MS = 600_000;

const failed = ({ checks }: Verdict) =>
  checks.flatMap(({ name, verdict }) => (verdict === 'fail' ? [name] : []));

async function watch(
  flaw: Check['name'] | undefined,
  isDone: (verdict: Verdict) => boolean,
): Promise<Verdict> {
  const box = await startTestBox('127.0.0.1', 0, () => {});
  const camera = new CarelessCamera(flaw, box.port, box.token);
  const running = camera.run();
  const until = performance.now() + GIVE_UP_MS;
  let verdict = judge(box.recorder.recording);
  while (
    performance.now() < until &&
    !(box.recorder.recording.exchanges.length >= REQUESTS && isDone(verdict))
  ) {
    await sleep(LOOK_MS);
    verdict = judge(box.recorder.recording);
  }
  camera.end();
  await running;
  await box.close();
  return verdict;
}

const FLAWS = Object.keys(JUDGES) as Check['name'][];
const careful = watch(undefined, ({ certificate }) => certificate);
const careless = FLAWS.map((flaw) => watch(flaw, (verdict) => failed(verdict).length > 0));

t.test('a careful camera earns the certificate', async (t) => {
  const { certificate, checks } = await careful;
  t.strictSame(
    checks.filter(({ verdict }) => verdict !== 'pass'),
    [],
  );
  t.equal(certificate, true);
});

t.test('a careless camera fails exactly the line that it is careless about', async (t) => {
  for (const [i, flaw] of FLAWS.entries()) {
    const verdict = await careless[i]!;
    t.strictSame(failed(verdict), [flaw], flaw);
    const check = verdict.checks.find(({ name }) => name === flaw);
    t.ok(check && check.requests.length > 0, `${flaw} is shown by requests`);
    t.equal(verdict.certificate, false);
  }
});
