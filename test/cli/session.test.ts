import t from 'tap';
import { type Cleanup, Daemon } from '../harness/daemon.ts';
import { event, events } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

const LATE_MS = 3_600_000;

/** One session with something of everything, and two small ones around it. */
async function filled(t: Cleanup) {
  const daemon = await Daemon.start(t);
  const session_id = 'match 1, "Füßen" 🎾';
  const startedMs = Date.now();
  const at = (offsetMs: number) => new Date(startedMs + offsetMs).toISOString();
  const [first, second] = events(2, { session_id, eot: at(-LATE_MS) });
  const batches: unknown[][] = [
    [event({ session_id: 'z-first', eot: '2026-03-14T16:00:00+02:00' })],
    [
      first,
      second,
      event({ session_id, eot: at(0), court_id: '__proto__', type: 'BALL_HIT' }),
      event({ session_id, eot: at(LATE_MS), court_id: 'court-10', type: 'PLAYER_IDENTITY', payload: {} }),
      { ...first, revision: 10 },
      { ...first, revision: 2 },
    ],
    [first, second, { ...first, revision: 2, confidence: 0.5 }],
    [{ ...first, revision: 2, confidence: 0.6 }],
    [
      event({ session_id: 'a-last', eot: '2026-03-14T15:00:00.5Z' }),
      event({ session_id: 'a-last', eot: '2026-03-14T16:30:00+02:00' }),
      event({ session_id: 'a-last', eot: '2026-03-14T12:00:00-04:00' }),
    ],
  ];
  for (const batch of batches) t202(await daemon.post(batch));
  return { daemon, session_id, firstEot: at(-LATE_MS), lastEot: at(LATE_MS), startedMs, endedMs: Date.now() };
}

function t202({ status }: Response): void {
  if (status !== 202) throw new Error(`answered ${status}`);
}

t.test('session list and show tell what was sent, for people and for programs', async (t) => {
  const { daemon, session_id, firstEot, lastEot, startedMs, endedMs } = await filled(t);
  const line = { session_id, events: 6, first_eot: firstEot, last_eot: lastEot, duplicates: 4, conflicts: 1 };
  const all = [
    {
      session_id: 'a-last',
      events: 3,
      first_eot: '2026-03-14T16:30:00+02:00',
      last_eot: '2026-03-14T12:00:00-04:00',
      duplicates: 0,
      conflicts: 0,
    },
    line,
    {
      session_id: 'z-first',
      events: 1,
      first_eot: '2026-03-14T16:00:00+02:00',
      last_eot: '2026-03-14T16:00:00+02:00',
      duplicates: 0,
      conflicts: 0,
    },
  ];

  t.test(
    'list: one array, first the session whose first event came last, with the first and last eot as sent',
    async (t) => {
      const { status, stdout, stderr } = await daemon.command('session', 'list', '--json');
      t.strictSame({ status, stderr, list: JSON.parse(stdout) }, { status: 0, stderr: '', list: all });
    },
  );

  t.test('list --last: the newest so many', async (t) => {
    const { stdout } = await daemon.command('session', 'list', '--json', '--last', '2');
    t.strictSame(JSON.parse(stdout), all.slice(0, 2));
    const { status, stderr } = await daemon.command('session', 'list', '--last', '0');
    t.equal(status, 2);
    t.match(stderr, /Give a whole number from 1/);
  });

  t.test('list for people holds the same, a session a line', async (t) => {
    const { stdout, stderr } = await daemon.command('session', 'list');
    const lines = stdout.trimEnd().split('\n');
    t.equal(stderr, '');
    t.strictSame(lines[0]?.split(/ +/), Object.keys(line));
    t.strictSame(
      lines.slice(1).map((text) => text.trim().split(/ {2,}/)),
      all.map((session) => Object.values(session).map(String)),
    );
  });

  t.test('show counts by type, court and revision, duplicates, conflicts and lateness', async (t) => {
    const { status, stdout, stderr } = await daemon.command('session', 'show', session_id, '--json');
    const { lateness, by_court, ...rest } = JSON.parse(stdout);
    t.strictSame({ status, stderr }, { status: 0, stderr: '' });
    t.strictSame(rest, {
      ...line,
      current_events: 4,
      preliminary_events: 3,
      by_type: { BALL_BOUNCE: 4, BALL_HIT: 1, PLAYER_IDENTITY: 1 },
      by_revision: { 0: 4, 2: 1, 10: 1 },
    });
    t.strictSame(Object.entries(by_court), [
      ['__proto__', 1],
      ['court-1', 4],
      ['court-10', 1],
    ]);
    const latest = (endedMs - startedMs) / 1000;
    const within = (seconds: number, least: number) => seconds >= least && seconds <= least + latest;
    t.ok(within(lateness.min_s, -3600), `least ${lateness.min_s}`);
    t.ok(within(lateness.mean_s, (4 * 3600 - 3600) / 6), `mean ${lateness.mean_s}`);
    t.ok(within(lateness.max_s, 3600), `most ${lateness.max_s}`);
    t.strictSame(Object.keys(lateness), ['min_s', 'mean_s', 'max_s', 'future_events']);
    t.equal(lateness.future_events, 1);
  });

  t.test(
    'show for people tells the same and what a conflict means, the latter on standard error',
    async (t) => {
      const { status, stdout, stderr } = await daemon.command('session', 'show', session_id);
      t.equal(status, 0);
      const told = new Map(
        stdout.split('\n').map((text) => text.trim().split(/ {2,}/, 2) as [string, string]),
      );
      t.equal(told.get('session id'), session_id);
      t.equal(told.get('events'), '6');
      t.equal(told.get('preliminary events'), '3');
      t.equal(told.get('by type'), 'BALL_BOUNCE 4, BALL_HIT 1, PLAYER_IDENTITY 1');
      t.equal(told.get('by court'), '__proto__ 1, court-1 4, court-10 1');
      t.match(told.get('lateness') ?? '', /; 1 event received before its eot$/);
      t.match(
        stderr,
        /^1 conflict: events sent again with different content.*revision, .*same event_id.*\.\n$/,
      );
    },
  );
});

t.test('session list cuts a long id for people and has it whole in --json', async (t) => {
  const daemon = await Daemon.start(t);
  const session_id = 'x'.repeat(256);
  t202(await daemon.post([event({ session_id }), event({ session_id: 'short' })]));
  const { stdout } = await daemon.command('session', 'list');
  t.ok(stdout.split('\n').every((line) => line.length <= 130));
  t.match(stdout, /^x+~ /m);
  const list = JSON.parse((await daemon.command('session', 'list', '--json')).stdout);
  t.ok(list.some((one: { session_id: string }) => one.session_id === session_id));
});

t.test('before the first event, list says so to people and is an empty array to programs', async (t) => {
  const daemon = await Daemon.start(t);
  t.match(await daemon.command('session', 'list'), { status: 0, stdout: '', stderr: /No event/ });
  t.strictSame(JSON.parse((await daemon.command('session', 'list', '--json')).stdout), []);
});
