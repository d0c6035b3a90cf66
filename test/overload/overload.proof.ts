import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import t, { type Test } from 'tap';
import { Cameras, storedIds } from '../harness/cameras.ts';
import { Daemon } from '../harness/daemon.ts';
import { ATTACK_NAMES, type AttackName } from './attacks.ts';

/** What section 3 of the contract defends, with a token and without: memory, right answers, and the life of the process. */

const MEMORY_MIB = 384;
/** What cameras send during each attack, at least. */
const EVENTS = 400;
/** A camera must wait, or its connection had to make room. */
const RETRIED = ['overloaded', 'gone'];

t.setTimeout(900_000);

const daemon = await Daemon.start(t, ['--rate-limit', '0']);
let sent = 0;

async function attack(t: Test, name: AttackName): Promise<void> {
  const { port, token } = daemon;
  const file = path.join(import.meta.dirname, 'attacks.ts');
  const attacker = fork(file, [name, JSON.stringify({ port, token })], { execArgv: [] });
  t.teardown(() => attacker.kill('SIGKILL'));
  await once(attacker, 'message');
}

for (const name of ATTACK_NAMES) {
  t.test(`during ${name} cameras get right answers, and memory is bounded`, async (t) => {
    await attack(t, name);
    const cameras = new Cameras(t, daemon, { cameras: 2, batch: 5, pauseMs: 50 });
    await cameras.more(EVENTS);
    await cameras.stop();
    sent += cameras.acknowledged.length;
    const others = [...cameras.refused.keys()].filter((code) => !RETRIED.includes(code));
    t.strictSame(others, [], 'every other answer asks to try again');
    t.ok(daemon.peakMib <= MEMORY_MIB, `${daemon.peakMib.toFixed(0)} of ${MEMORY_MIB} MiB`);
    t.equal(daemon.child.exitCode ?? daemon.child.signalCode, null, 'the daemon lives');
  });
}

t.test('after all of them every event is stored once, and the log has no error', async (t) => {
  t.equal((await storedIds(daemon)).length, sent);
  t.strictSame(
    daemon.log.filter(({ level }) => level === 'error' || level === 'fatal'),
    [],
  );
  t.equal(await daemon.stop(), 0);
});
