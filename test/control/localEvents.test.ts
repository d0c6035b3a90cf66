import path from 'node:path';
import t from 'tap';
import { DataDirectory } from '../../src/base/dataDirectory.ts';
import { requestAnswer } from '../../src/base/httpAnswer.ts';
import { askBox } from '../../src/control/controlClient.ts';
import { Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';

runInProcess();

/** `POST /v1/events` over control.sock: for commands of the box, which have no token, and without the limits on cameras. */

const daemon = await Daemon.start(t, [
  '--venue=venue-1',
  '--rate-limit=1',
  // Of cameras one is enough, and the one before, which has got a 401, may not be closed yet.
  '--connections-per-address=2',
  '--body-limit=100000',
]);

/** @returns the answer to one request, and its body as a value. */
async function put(sent: unknown) {
  const text = Buffer.from(JSON.stringify(sent));
  const headers = { 'Content-Type': 'application/json', 'Content-Length': text.length };
  const socketPath = path.join(daemon.data, 'control.sock');
  const options = { socketPath, path: '/v1/events', method: 'POST', headers, agent: false } as const;
  const answer = await requestAnswer(options, text);
  const conflicts = Number(answer.headers['courtd-conflicts'] ?? 0);
  return { status: answer.status, conflicts, body: JSON.parse(answer.body) };
}

t.test(
  'a batch is stored whole or not at all, by the rules of the daemon, and each event once',
  async (t) => {
    const sent = events(3);
    t.match(await put(sent), { status: 202, conflicts: 0, body: { accepted: 3, duplicates: 0 } });
    const again = await put([...sent, { ...sent[0], confidence: 0.5 }]);
    t.match(again, { status: 202, conflicts: 1, body: { accepted: 0, duplicates: 4 } });
    t.match(await put([event(), event({ venue_id: 'other' })]), {
      status: 400,
      body: { invalid: [{ index: 1, issues: [{ path: 'venue_id', message: /must be "venue-1"/ }] }] },
    });
    t.match(await put(event({ payload: { note: 'x'.repeat(100_000) } })), {
      status: 413,
      body: { code: 'body_too_large' },
    });
    t.equal((await daemon.exported('session-1')).length, 3);
  },
);

t.test('no rate and no number of connections keeps a command out; a camera needs its token', async (t) => {
  const all = await Promise.all(Array.from({ length: 20 }, () => put(events(2))));
  t.ok(all.every(({ status }) => status === 202));
  t.equal((await daemon.post(event(), { Authorization: '' })).status, 401);
  t.equal((await daemon.post(event())).status, 202);
});

t.test('imported events are logged and counted, and their source is no camera', async (t) => {
  const metrics = await daemon.command('metrics');
  const total = (result: string) => `courtd_events_total{result="${result}"}`;
  t.match(metrics.stdout, `${total('accepted')} 44\n`);
  t.match(metrics.stdout, `${total('conflict')} 1\n`);
  t.match(await daemon.logged('first events from this client'), { client: 'import', accepted: 3 });
  t.match(await daemon.logged('rejected'), { client: 'import', code: 'invalid_event' });
  const { sources, rates } = await askBox(new DataDirectory(daemon.data));
  t.match(sources, [{ source: 'camera-1', client: '127.0.0.1', events_last_day: 1 }]);
  t.equal(sources.length, 1);
  t.equal(rates.refused_last_minute, 1);
});
