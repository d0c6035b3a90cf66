import t from 'tap';
import { LogQuota } from '../../src/http/logQuota.ts';
import { Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { answerOf } from '../harness/rawClient.ts';

runInProcess();

const daemon = await Daemon.start(t);

/** What the log says of requests. */

t.test('a client that invents sources, and any number of strangers, get few lines in a minute', async (t) => {
  const quota = new LogQuota();
  quota.markKnown('10.0.0.1');
  const lines = (count: number, client: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => quota.take(client(i), `kind ${i}`)).filter(Boolean).length;
  t.equal(
    lines(1_000, () => '10.0.0.2'),
    20,
  );
  const strangers = lines(20_000, (i) => `2001:db8::${i.toString(16)}`);
  t.ok(strangers < 200, `${strangers} lines`);
  t.ok(quota.take('10.0.0.1', 'a kind'), 'a camera that has sent events is told beside them');
  quota.reset();
  t.ok(quota.take('198.51.100.7', 'a kind'), 'and each minute anew');
});

t.test('the log names source and court of a rejected event if they are valid names', async (t) => {
  const good = event({ source: 'camera-7', court_id: 'court-7' });
  const bad = { ...good, confidence: 2 };
  const bodies: [body: unknown, named: object][] = [
    [bad, { source: 'camera-7', court_id: 'court-7' }],
    [[event(), bad, { ...bad, source: 'camera-8' }], { source: 'camera-7', court_id: 'court-7' }],
    [
      { ...bad, court_id: 7 },
      { source: 'camera-7', court_id: undefined },
    ],
    [
      { ...bad, source: 'x'.repeat(257), court_id: 'a\u0085b' },
      { source: undefined, court_id: undefined },
    ],
    [[null], { source: undefined, court_id: undefined }],
  ];
  for (const [body, named] of bodies) {
    const answer = await answerOf(daemon.post(body));
    const { request_id, ...told } = JSON.parse(answer.body);
    t.equal(answer.status, 400);
    t.notOk('source' in told || 'logged' in told, 'in the log, not in the answer');
    const { source, court_id } = await daemon.logged((line) => line.request_id === request_id);
    t.strictSame({ source, court_id }, { source: undefined, court_id: undefined, ...named });
  }
});

t.test(
  'the log distinguishes two cameras with one event_id from one that does not raise its revision',
  async (t) => {
    const from = daemon.log.length;
    const [first, second] = [event({ event_id: '1' }), event({ event_id: '2' })];
    t.equal((await daemon.post([first, second])).status, 202);
    t.equal((await daemon.post({ ...first, source: 'camera-2' })).status, 202);
    t.equal((await daemon.post({ ...second, confidence: 0.1 })).status, 202);
    await daemon.logged(/raise its revision$/, from);
    const warnings = daemon.log.slice(from).filter(({ level }) => level === 'warn');
    t.match(warnings, [
      {
        msg: /^two cameras use the same event_id: .* UUID$/,
        duplicates: 1,
        conflicts: 1,
        shared_ids: 1,
        session_id: first.session_id,
        event_id: '1',
        source: 'camera-2',
      },
      {
        msg: /raise its revision$/,
        conflicts: 1,
        shared_ids: undefined,
        event_id: '2',
        source: second.source,
      },
    ]);
  },
);
