import t from 'tap';
import { storedIds } from '../harness/cameras.ts';
import { Daemon } from '../harness/daemon.ts';
import { events } from '../harness/events.ts';
import { Fault, SYNC, withoutStrace } from '../harness/strace.ts';

const STALL_MS = 3_000;
/** Above what a daemon with the largest queue may take (issue 3: 300 MiB under the worst load). */
const MEMORY_MIB = 300;

t.test(
  'a disk that stalls for seconds: requests wait, none is acknowledged early, memory stays bounded',
  { skip: withoutStrace },
  async (t) => {
    const daemon = await Daemon.start(t, ['--rate-limit', '0']);
    t.equal((await daemon.post(events(1))).status, 202);
    const effect = `delay_enter=${STALL_MS * 1000}`;
    const fault = await Fault.begin(t, daemon, { calls: SYNC, effect, file: 'courtd.db-wal' });
    const padding = 'x'.repeat(2_000);
    const startedAt = performance.now();
    const first = events(1);
    const sent = [first, ...Array.from({ length: 200 }, (_, i) => events(1 + (i % 200), { padding }))];
    const answers = sent.map(async (batch) => {
      const { status } = await daemon.post(batch);
      const ms = performance.now() - startedAt;
      t.ok(status === 202 || status === 503, `${status}`);
      if (status === 202) t.ok(ms >= STALL_MS, `acknowledged after ${ms} ms`);
      return status === 202 ? batch : [];
    });
    t.same(await answers[0], first, 'one that waits in an open group is stored in the end');
    await fault.end();
    const acknowledged = (await Promise.all(answers)).flat();
    t.ok(daemon.peakMib < MEMORY_MIB, `${daemon.peakMib} MiB`);
    const stored = new Set(await storedIds(daemon));
    t.equal(acknowledged.filter(({ event_id }) => !stored.has(event_id)).length, 0, 'nothing is lost');
    t.equal((await daemon.post(events(1))).status, 202, 'all is well afterwards');
    t.equal(await daemon.stop(), 0);
  },
);
