import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { BIN, cleanEnvironment, courtd, Daemon, start } from '../../harness/daemon.ts';

/** The summary that ends a run, as numbers. */
function summaryOf(stdout: string) {
  const summary =
    /^(\d+) requests?: (\d+) events? stored, (\d+) duplicates?, (\d+) refused, (\d+) not delivered; (\d+) events\/s for ([\d.]+) s, answered in ([\d.]+) ms \(p50\) and ([\d.]+) ms \(p99\); the first court is session (\S+)\n$/;
  const [, ...parts] = summary.exec(stdout) ?? [];
  const [requests, stored, duplicates, refused, waiting, rate, seconds, p50, p99] = parts.map(Number);
  return { requests, stored, duplicates, refused, waiting, rate, seconds, p50, p99, session: parts[9] };
}

/** Takes some seconds of waiting: beside all others. */
const boxless = courtd(['simulate', '--url', 'http://127.0.0.1:1', '--for', '1s', '--token', 'x']);

t.test(
  'a venue is sent to a box: by --for or until a signal, and each run is a session a court',
  async (t) => {
    const daemon = await Daemon.start(t);
    const args = ['simulate', '--url', `http://127.0.0.1:${daemon.port}`, '--courts', '2'];
    const env = cleanEnvironment({ COURTD_TOKEN: daemon.token });
    const timed = courtd([...args, '--clean', '--rate', '400', '--for', '1s'], {
      COURTD_TOKEN: daemon.token,
    });
    const endless = start(BIN, args, { env });
    const exited = once(endless, 'exit');
    const said = text(endless.stdout);
    const { status, stdout, stderr } = await timed;
    t.strictSame({ status, stderr }, { status: 0, stderr: '' });
    const timedSummary = summaryOf(stdout);
    t.match(timedSummary, { refused: 0, waiting: 0, session: /^sim-1-\d{8}T\d{6}Z-court-1$/ }, stdout);
    t.ok(Number(timedSummary.stored) > 20);
    const { stored = 0, rate = 0, seconds = 0, p50 = 0, p99 = 0 } = timedSummary;
    t.ok(
      Math.abs(rate - stored / seconds) <= rate / 10 + 1,
      `${stored} in ${seconds} s are not ${rate} a second`,
    );
    t.ok(p50 > 0 && p50 <= p99, stdout);
    endless.kill('SIGTERM');
    t.strictSame(await exited, [0, null]);
    const endlessSummary = summaryOf(await said);
    t.equal(endlessSummary.refused, 0);
    const sessions: { events: number; court: string }[] = JSON.parse(
      (await daemon.command('session', 'list', '--json')).stdout,
    );
    const events = sessions.reduce((sum, session) => sum + session.events, 0);
    // What was still under way at the signal may be stored too.
    t.ok(events >= timedSummary.stored! + endlessSummary.stored!, `${events} events`);
  },
);

t.test('without a box nothing is stored, and without a token nothing is sent: both fail', async (t) => {
  const [none, tokenless, printed, tooFast] = await Promise.all([
    boxless,
    courtd(['simulate']),
    courtd(['simulate', '--print', '3', '--sport', 'padel', '--rate', '200000']),
    courtd(['simulate', '--print', '3', '--rate', '200001']),
  ]);
  t.match(tooFast, { status: 2, stdout: '', stderr: '200000' });
  t.match(none, { status: 1, stdout: / 0 events stored, / });
  t.match(none.stderr, /court-1-cam-2: no answer\n/);
  t.match(none.stderr, /\ncourtd: No event was stored at [^\n]+\n$/);
  t.match(tokenless, {
    status: 2,
    stdout: '',
    stderr: /^courtd: There is no token: [^\n]*COURTD_TOKEN[^\n]*\n$/,
  });
  t.match(printed, { status: 0, stderr: '' });
  t.equal(printed.stdout.split('\n').length, 4);
});
