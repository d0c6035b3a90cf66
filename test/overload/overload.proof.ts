import { fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { ATTACK_NAMES, type AttackName } from './attacks.ts';

/** What section 3 of the contract defends, with a token and without: memory, right answers, and the life of the process. */

const MEMORY_MIB = 384;
const CAMERAS = 2;
const BATCHES = 40;
const BATCH_EVENTS = 5;
const PAUSE_MS = 50;
/** Where a camera is told to wait, or its connection had to make room. */
const RESEND_MS = 200;

t.setTimeout(900_000);

const daemon = await Daemon.start(t, ['--rate-limit', '0']);
let sent = 0;

/** @returns the most memory that the daemon had in its life. */
function peakMib(): number {
  const status = fs.readFileSync(`/proc/${daemon.child.pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

async function attack(t: Test, name: AttackName): Promise<void> {
  const { port, token } = daemon;
  const file = path.join(import.meta.dirname, 'attacks.ts');
  const attacker = fork(file, [name, JSON.stringify({ port, token })], { execArgv: [] });
  t.teardown(() => attacker.kill('SIGKILL'));
  await once(attacker, 'message');
}

/** Sends batches one after the other, each until it is stored. @returns the milliseconds that each took. */
async function camera(t: Test, session_id: string): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < BATCHES; i++, await sleep(PAUSE_MS)) {
    const batch = events(BATCH_EVENTS, { session_id });
    const startedAt = performance.now();
    for (let isStored = false; !isStored; ) {
      const response = await daemon.post(batch).catch(() => undefined);
      if (response?.status === 202) {
        const { accepted, duplicates } = (await response.json()) as { accepted: number; duplicates: number };
        t.equal(accepted + duplicates, BATCH_EVENTS);
        isStored = true;
      } else {
        t.ok([503, undefined].includes(response?.status), `it was answered ${response?.status}`);
        await sleep(RESEND_MS);
      }
    }
    sent += BATCH_EVENTS;
    times.push(performance.now() - startedAt);
  }
  return times;
}

for (const name of ATTACK_NAMES) {
  t.test(`beside ${name} cameras are answered rightly, and memory is bounded`, async (t) => {
    await attack(t, name);
    const times = await Promise.all(Array.from({ length: CAMERAS }, (_, i) => camera(t, `camera-${i}`)));
    const sorted = times.flat().sort((a, b) => a - b);
    t.comment(`a camera waits ${sorted[sorted.length >> 1]!.toFixed(0)} ms at the median`);
    t.ok(peakMib() <= MEMORY_MIB, `${peakMib().toFixed(0)} of ${MEMORY_MIB} MiB`);
    t.equal(daemon.child.exitCode ?? daemon.child.signalCode, null, 'the daemon lives');
  });
}

t.test('after all of them every event is stored once, and the log has no error', async (t) => {
  const stored = await Promise.all(Array.from({ length: CAMERAS }, (_, i) => daemon.exported(`camera-${i}`)));
  t.equal(stored.flat().length, sent);
  t.strictSame(
    daemon.log.filter(({ level }) => level === 'error' || level === 'fatal'),
    [],
  );
  t.equal(await daemon.stop(), 0);
});
