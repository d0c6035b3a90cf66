import t from 'tap';
import { Daemon } from '../harness/daemon.ts';
import { event, eventText } from '../harness/events.ts';
import { commandInProcess, runInProcess } from '../harness/inProcess.ts';

runInProcess();

const daemon = await Daemon.start(t);

t.test('event show tells every revision of one event, and the highest is current', async (t) => {
  const sent = event({ event_id: 'e "1" 🎾', session_id: 's 1', note: { by: 'umpire' } });
  const arrivals = [2 ** 53 - 1, 0, 2 ** 53 - 2].map((revision, i) => ({
    ...sent,
    revision,
    confidence: i / 10,
  }));
  for (const revision of arrivals) t.equal((await daemon.post(revision)).status, 202);
  await daemon.post([{ ...arrivals[1], confidence: 0.9 }, arrivals[1], event({ session_id: 's 1' })]);
  await daemon.post({ ...sent, session_id: 's 2' });
  const show = ['event', 'show', 's 1', sent.event_id];

  t.test(
    'for programs: one array in the order of the revisions, an older one that came late included',
    async (t) => {
      const { status, stdout, stderr } = await daemon.command(...show, '--json');
      t.strictSame({ status, stderr }, { status: 0, stderr: '' });
      const shown: Record<string, unknown>[] = JSON.parse(stdout);
      t.strictSame(
        shown.map(({ received_at: _, ...rest }) => rest),
        [
          { current: false, conflicting_copies: 1, event: arrivals[1] },
          { current: false, conflicting_copies: 0, event: arrivals[2] },
          { current: true, conflicting_copies: 0, event: arrivals[0] },
        ],
      );
      const received = shown.map(({ received_at }) => Date.parse(String(received_at)));
      t.ok(received[2]! <= received[0]! && received[0]! <= received[1]!, 'with the time of arrival');
    },
  );

  t.test('for people: each with its mark, and the copies that were ignored', async (t) => {
    const { status, stdout, stderr } = await daemon.command(...show);
    t.strictSame({ status, stderr }, { status: 0, stderr: '' });
    t.strictSame(stdout.match(/^revision .*$/gm), [
      'revision 0 (replaced by a higher revision)',
      'revision 9007199254740990 (replaced by a higher revision)',
      'revision 9007199254740991 (current)',
    ]);
    t.equal(stdout.match(/^ {2}payload {2,}\{"x_ft":12\.5,"y_ft":-3\.25,"is_in":true\}$/gm)?.length, 3);
    t.equal(stdout.match(/^ {2}extra {2,}\{"note":\{"by":"umpire"\}\}$/gm)?.length, 3);
    t.strictSame(stdout.match(/^ {2}conflicts +resends with different content, ignored: 1$/gm)?.length, 1);
  });

  t.test('a misspelt name is told: of an event, of a session, and where tail finds nothing', async (t) => {
    const told = async (...args: string[]) => {
      const { status, stderr } = await commandInProcess([...args, '--data', daemon.data]);
      return `${status} ${stderr}`;
    };
    t.match(
      await told('event', 'show', 's 1', 'none'),
      /^1 courtd: There is no event "none" in session "s 1": [^\n]+\n$/,
    );
    t.match(await told('event', 'show', 's', 'none'), /^1 courtd: There is no session "s": [^\n]+\n$/);
    t.equal(await told('tail', '--session', 's'), '0 No event matched.\n');
    t.equal(await told('tail', '--session', 's', '--after', '0'), '0 ', 'a program asks often');
  });
});

t.test('event show keeps the numbers that a double cannot hold, in its JSON too', async (t) => {
  const payload = '{"id":18446744073709551615,"x_ft":0.12345678901234567890,"far":1e300}';
  const sent = eventText({ payload, frame: '-9223372036854775808' }, { event_id: 'wide' });
  t.equal((await daemon.post(sent)).status, 202);
  for (const options of [['--json'], []]) {
    const { stdout } = await daemon.command('event', 'show', 'session-1', 'wide', ...options);
    for (const digits of ['18446744073709551615', '0.12345678901234567890', '-9223372036854775808']) {
      t.ok(stdout.includes(digits), digits);
    }
  }
});
