import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { judge, type Verdict } from '../../src/vendor/conformance/judge.ts';
import { TestBox } from '../../src/vendor/conformance/testBox.ts';
import { BIN, cleanEnvironment, temporaryFolder } from '../harness/daemon.ts';
import { block, VENDOR_GUIDE } from '../harness/documents.ts';
import { missingPrograms } from '../harness/needs.ts';

/** The sample clients of the vendor's guide and the simulated venue earn the certificate, all at the same time. */

const LOOK_MS = 500;
/** The certificate takes half a minute; a machine that is so slow shows nothing any more. */
const GIVE_UP_MS = 600_000;

/** What a camera would send: four bounces, for ever. In the place of the one event of the sample. */
const DRIVERS = {
  python: `
while True:
    send([{
        "event_id": str(uuid.uuid4()), "session_id": "match-17", "venue_id": "venue-1", "court_id": "court-7",
        "eot": datetime.now(timezone.utc).isoformat(), "type": "BALL_BOUNCE", "confidence": 0.6,
        "source": "court-7-cam-1", "schema_version": "1.0", "payload": {"x_ft": random.random() * 20, "y_ft": i},
    } for i in range(4)])
    time.sleep(0.1)
`,
  js: `
for (;;) {
  await send([0, 1, 2, 3].map((i) => ({
    event_id: randomUUID(), session_id: 'match-17', venue_id: 'venue-1', court_id: 'court-7',
    eot: new Date().toISOString(), type: 'BALL_BOUNCE', confidence: 0.6, source: 'court-7-cam-1',
    schema_version: '1.0', payload: { x_ft: Math.random() * 20, y_ft: i },
  })));
  await sleep(100);
}
`,
} as const;
const CALL = /^(?:print\(send|console\.log\(await send)\(/m;

function sample(t: Test, language: keyof typeof DRIVERS, box: Box): ChildProcess {
  const code = block(VENDOR_GUIDE, language);
  const own = code.slice(0, code.search(CALL));
  const file = path.join(temporaryFolder(t), language === 'js' ? 'send.mjs' : 'send.py');
  fs.writeFileSync(file, own + DRIVERS[language]);
  const program = language === 'js' ? process.execPath : 'python3';
  const BOX = `http://127.0.0.1:${box.port}`;
  const env = cleanEnvironment({ BOX, TOKEN: box.token, PYTHONDONTWRITEBYTECODE: '1' });
  return spawn('env', ['-u', 'NODE_OPTIONS', program, file], { env, stdio: 'ignore' });
}

function venue(box: Box): ChildProcess {
  const args = ['simulate', '--clean', '--for', '2m', '--url', `http://127.0.0.1:${box.port}`];
  const env = cleanEnvironment({ COURTD_TOKEN: box.token });
  return spawn('env', ['-u', 'NODE_OPTIONS', BIN, ...args], { env, stdio: 'ignore' });
}

interface Box {
  readonly token: string;
  readonly port: number;
}

/** @returns the verdict, as soon as it is decided: a certificate, or a failure. */
async function verdictOn(t: Test, start: (box: Box) => ChildProcess): Promise<Verdict> {
  const box = new TestBox(() => {});
  const client = start({ token: box.token, port: await box.listen('127.0.0.1', 0) });
  const exited = once(client, 'exit');
  t.teardown(() => void client.kill('SIGKILL'));
  const until = performance.now() + GIVE_UP_MS;
  let verdict = judge(box.recording);
  const isOpen = () => !verdict.certificate && failedIn(verdict).length === 0;
  while (isOpen() && performance.now() < until && client.exitCode === null) {
    await sleep(LOOK_MS);
    verdict = judge(box.recording);
  }
  client.kill('SIGKILL');
  await exited;
  box.close();
  return verdict;
}

const failedIn = ({ checks }: Verdict) =>
  checks.flatMap(({ name, verdict }) => (verdict === 'fail' ? [name] : []));

const skip = missingPrograms({ python3: 'python3' }) ?? false;
const CLIENTS = {
  'the client in Python': (t: Test) => (box: Box) => sample(t, 'python', box),
  'the client in Node': (t: Test) => (box: Box) => sample(t, 'js', box),
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
