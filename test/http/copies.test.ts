import fs from 'node:fs';
import t from 'tap';
import { BATCH_EVENTS, BODY_BYTES } from '../../src/base/limits.ts';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';

runInProcess();

/** @returns the bytes that a process has read so far, from its files and connections, out of the page cache or not. */
function bytesRead(pid: number): number {
  return Number(/^rchar: (\d+)$/m.exec(fs.readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

t.test('500 copies of the key of a stored event as large as a body do not read it 500 times', async (t) => {
  const daemon = await Daemon.start(t);
  const large = event({ payload: { text: 'x'.repeat(BODY_BYTES - 1_000) } });
  t.strictSame(await (await daemon.post(large)).json(), { accepted: 1, duplicates: 0 });
  const copies = Array(BATCH_EVENTS).fill({ ...large, payload: {} });
  const before = bytesRead(daemon.child.pid!);
  t.strictSame(await (await daemon.post(copies)).json(), { accepted: 0, duplicates: BATCH_EVENTS });
  const read = bytesRead(daemon.child.pid!) - before;
  t.ok(read < 4 * BODY_BYTES, `${read} bytes were read`);
  t.strictSame(await (await daemon.post(large)).json(), { accepted: 0, duplicates: 1 });
  const list = await daemon.command('session', 'list', '--json');
  t.match(JSON.parse(list.stdout), [{ events: 1, duplicates: BATCH_EVENTS + 1, conflicts: 1 }]);
});
