import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { INJECTED_FAULTS } from '../../../src/vendor/conformance/faultPlan.ts';
import { judge, type Verdict } from '../../../src/vendor/conformance/judge.ts';
import { startTestBox } from '../../../src/vendor/conformance/testBox.ts';
import { CarelessCamera, type Habits } from './carelessCamera.ts';
import { CARELESS_CAMERAS } from './carelessCameras.ts';

/** One camera that is careless of nothing, and each careless one, at boxes of their own, all at the same time. */

const LOOK_MS = 500;
/** Beside the line that it fails, a camera is seen for so many requests. */
const REQUESTS = 80;
/** Each kind of fault comes within so many requests. */
const FIRST = 50;
/** A machine that is so slow shows nothing any more. */
const GIVE_UP_MS = 600_000;
const RESTART_MS = 15_000;

const failed = ({ checks }: Verdict) =>
  checks.flatMap(({ name, verdict }) => (verdict === 'fail' ? [name] : []));

async function watch(
  [source, habits, isRestarted]: readonly [string, Habits, boolean],
  isDone: (verdict: Verdict) => boolean,
): Promise<Verdict & { readonly faults: Set<unknown> }> {
  const tell = (sentence: string) => void (/switch the camera off/.test(sentence) && camera.restart());
  const box = await startTestBox('127.0.0.1', 0, tell, isRestarted ? RESTART_MS : undefined);
  const camera = new CarelessCamera(source, habits, box.port, box.token);
  const running = camera.run();
  const verdictNow = () => judge(box.recorder.recording, isRestarted);
  const isSeen = () => camera.isEnded || box.recorder.recording.exchanges.length >= REQUESTS;
  const until = performance.now() + GIVE_UP_MS;
  while (performance.now() < until && !(isSeen() && isDone(verdictNow()))) await sleep(LOOK_MS);
  const verdict = verdictNow();
  const faults = new Set(box.recorder.recording.exchanges.slice(0, FIRST).map(({ fault }) => fault));
  camera.end();
  await running;
  await box.close();
  return { ...verdict, faults };
}

const careful = watch(['careful', {}, true], (verdict) => verdict.certificate || failed(verdict).length > 0);
const careless = CARELESS_CAMERAS.map(([camera, , fails, habits]) =>
  watch([camera, habits, fails === 'survives_restart'], (verdict) => failed(verdict).length > 0),
);

t.test('a careful camera earns the certificate', async (t) => {
  const { certificate, checks, faults } = await careful;
  for (const fault of INJECTED_FAULTS) t.ok(faults.has(fault), `${fault} came`);
  t.strictSame(
    checks.filter(({ verdict }) => verdict !== 'pass'),
    [],
  );
  t.equal(certificate, true);
});

t.test('a careless camera fails exactly the check for what it does', async (t) => {
  for (const [i, [camera, does, fails]] of CARELESS_CAMERAS.entries()) {
    const verdict = await careless[i]!;
    const what = `${camera}: ${does}`;
    t.strictSame(failed(verdict), [fails], what);
    const check = verdict.checks.find(({ name }) => name === fails);
    t.ok(check && check.requests.length > 0, `${what} is shown by requests: ${check?.message}`);
    t.equal(verdict.certificate, false);
  }
});
