import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { judge, type Verdict } from '../../src/vendor/conformance/judge.ts';
import { startTestBox, type TestBox } from '../../src/vendor/conformance/testBox.ts';
import { BIN, cleanEnvironment, temporaryFolder } from '../harness/daemon.ts';
import { block, VENDOR_GUIDE } from '../harness/documents.ts';
import { missingPrograms } from '../harness/needs.ts';

/** Who keeps to the vendor's guide earns the certificate: its own sample clients, and the simulated venue. All at the same time. */

const LOOK_MS = 500;
/** The certificate takes half a minute; a machine that is so slow shows nothing any more. */
const GIVE_UP_MS = 600_000;

/** What a camera would send: four bounces, and their confirmation, for ever. In the place of the one event of the sample. */
const DRIVERS = {
  python: `
while True:
    seen = [{
        "event_id": str(uuid.uuid4()), "session_id": "match-17", "venue_id": "venue-1", "court_id": "court-7",
        "eot": datetime.now(timezone.utc).isoformat(), "type": "BALL_BOUNCE", "confidence": 0.6,
        "source": "court-7-cam-1", "schema_version": "1.0", "payload": {"x_ft": random.random() * 20, "y_ft": i},
    } for i in range(4)]
    send(seen)
    send([{**one, "revision": 1, "confidence": 0.95} for one in seen])
    time.sleep(0.1)
`,
  js: `
for (;;) {
  const seen = [0, 1, 2, 3].map((i) => ({
    event_id: randomUUID(), session_id: 'match-17', venue_id: 'venue-1', court_id: 'court-7',
    eot: new Date().toISOString(), type: 'BALL_BOUNCE', confidence: 0.6, source: 'court-7-cam-1',
    schema_version: '1.0', payload: { x_ft: Math.random() * 20, y_ft: i },
  }));
  await send(seen);
  await send(seen.map((one) => ({ ...one, revision: 1, confidence: 0.95 })));
  await sleep(100);
}
`,
} as const;
const CALL = /^(?:print\(send|console\.log\(await send)\(/m;

function sample(t: Test, language: keyof typeof DRIVERS, box: TestBox): ChildProcess {
  const code = block(VENDOR_GUIDE, language);
  const own = code.slice(0, code.search(CALL)).replace('4000', `${box.port}`);
  const file = path.join(temporaryFolder(t), language === 'js' ? 'send.mjs' : 'send.py');
  fs.writeFileSync(file, own + DRIVERS[language]);
  const program = language === 'js' ? process.execPath : 'python3';
  const env = cleanEnvironment({ BOX: '127.0.0.1', TOKEN: box.token, PYTHONDONTWRITEBYTECODE: '1' });
  return spawn('env', ['-u', 'NODE_OPTIONS', program, file], { env, stdio: 'ignore' });
}

function venue(box: TestBox): ChildProcess {
  const args = ['simulate', '--clean', '--for', '2m', '--url', `http://127.0.0.1:${box.port}`];
  const env = cleanEnvironment({ COURTD_TOKEN: box.token });
  return spawn('env', ['-u', 'NODE_OPTIONS', BIN, ...args], { env, stdio: 'ignore' });
}

/** @returns the verdict, as soon as it is a certificate. */
async function verdictOn(t: Test, start: (box: TestBox) => ChildProcess): Promise<Verdict> {
  const box = await startTestBox('127.0.0.1', 0, () => {});
  const client = start(box);
  const exited = once(client, 'exit');
  t.teardown(() => void client.kill('SIGKILL'));
  const until = performance.now() + GIVE_UP_MS;
  let verdict = judge(box.recorder.recording);
  while (!verdict.certificate && performance.now() < until && client.exitCode === null) {
    await sleep(LOOK_MS);
    verdict = judge(box.recorder.recording);
  }
  client.kill('SIGKILL');
  await exited;
  await box.close();
  return verdict;
}

const skip = missingPrograms({ python3: 'python3' }) ?? false;
const CLIENTS = {
  'the client in Python': (t: Test) => (box: TestBox) => sample(t, 'python', box),
  'the client in Node': (t: Test) => (box: TestBox) => sample(t, 'js', box),
  'simulate --clean --for 2m': () => venue,
};

t.jobs = 3;
for (const [name, start] of Object.entries(CLIENTS)) {
  t.test(`${name} earns the certificate`, { skip: name.endsWith('Python') && skip }, async (t) => {
    const { certificate, checks } = await verdictOn(t, start(t));
    t.strictSame(
      checks.filter(({ verdict }) => verdict !== 'pass'),
      [],
    );
    t.equal(certificate, true);
  });
}
