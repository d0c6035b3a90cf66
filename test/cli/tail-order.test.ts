import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';
import { Tail, type TailLine } from '../harness/tail.ts';

runInProcess();
serveAgain();

const BASE_MS = Date.UTC(2026, 2, 14, 15, 9, 26);

/** An event of `ms` after a time that has long passed; its id says so. */
const at = (ms: number, overrides: Record<string, unknown> = {}) =>
  event({ event_id: `${ms}`, eot: new Date(BASE_MS + ms).toISOString(), ...overrides });

const shown = ({ event, late }: TailLine) => (late ? `late ${event.event_id}` : event.event_id);

t.test(
  'tail --follow shows a request in order, marks what comes behind it as late, and holds nobody for a clock',
  async (t) => {
    const daemon = await Daemon.start(t);
    const quick = new Tail(t, daemon.data, '--order', 'eot', '--after', '0');
    await daemon.post([at(20), at(10)]);
    await quick.has(2);
    await daemon.post([at(15), at(30), event({ event_id: 'ahead', eot: '2199-01-01T00:00:00Z' })]);
    await quick.has(5);
    t.strictSame(quick.lines.map(shown), ['10', '20', 'late 15', '30', 'ahead']);
    // Later than the receipt of the one that is ahead, by the clock of the box.
    const now = event({ event_id: 'now', eot: new Date(Date.now() + 1_000).toISOString() });
    await daemon.post(now);
    await quick.has(6);
    t.strictSame(shown(quick.lines[5]!), 'now', 'a clock that is ahead makes nobody late');

    const file = path.join(temporaryFolder(t), 'shown.ndjson');
    fs.writeFileSync(file, quick.stdout);
    const imported = await daemon.command('import', file);
    t.match(imported, { status: 0 }, 'import takes what has been marked');
  },
);

t.test('over kill -9 of the daemon none is lost, and none comes twice', async (t) => {
  const daemon = await Daemon.start(t);
  const tail = new Tail(t, daemon.data, '--order', 'eot', '--after', '0');
  await daemon.post([at(20), at(10)]);
  await daemon.stop('SIGKILL');
  const again = await Daemon.run(t, daemon.data, daemon.token);
  await again.post([at(40), at(30), at(20)]);
  await tail.has(4);
  await again.post(at(50));
  await tail.has(5);
  t.strictSame(tail.lines.map(shown), ['10', '20', '30', '40', '50']);
});
