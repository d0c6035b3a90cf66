import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { BIN, cleanEnvironment, courtd, Daemon, start } from '../../harness/daemon.ts';

/** The summary that ends a run. */
function summaryOf(stdout: string) {
  const summary =
    /^(\d+) requests?: (\d+) events? stored, (\d+) duplicates?, (\d+) rejected, (\d+) not delivered; the first court is session (\S+)\n$/;
  const [, ...parts] = summary.exec(stdout) ?? [];
  const [requests, stored, duplicates, refused, waiting] = parts.map(Number);
  return { requests, stored, duplicates, refused, waiting, session: parts[5] };
}

/** Takes some seconds of waiting: runs while other files run. */
const boxless = courtd(['simulate', '--url', 'http://127.0.0.1:1', '--for', '1s', '--token', 'x']);

t.test(
  'a venue is sent to a box: by --for or until a signal, and each run is a session a court',
  async (t) => {
    const daemon = await Daemon.start(t);
    const args = ['simulate', '--url', `http://127.0.0.1:${daemon.port}`, '--courts', '2'];
    const env = cleanEnvironment({ COURTD_TOKEN: daemon.token });
    const timed = courtd([...args, '--clean', '--for', '2s'], { COURTD_TOKEN: daemon.token });
    // Runs of one seed that start in the same second are one match: the second would send duplicates.
    const endless = start(BIN, [...args, '--seed', '2'], { env });
    const exited = once(endless, 'exit');
    const said = text(endless.stdout);
    const { status, stdout, stderr } = await timed;
    t.strictSame({ status, stderr }, { status: 0, stderr: '' });
    const timedSummary = summaryOf(stdout);
    t.match(timedSummary, { refused: 0, waiting: 0, session: /^sim-1-\d{8}T\d{6}Z-court-1$/ }, stdout);
    t.ok(timedSummary.stored! > 0, `${timedSummary.stored} stored`);
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
  const [none, tokenless] = await Promise.all([boxless, courtd(['simulate'])]);
  t.match(none, { status: 1, stdout: / 0 events stored, /, stderr: /court-1-cam-2: no answer/ });
  t.match(tokenless, { status: 2, stdout: '', stderr: /COURTD_TOKEN/ });
});
