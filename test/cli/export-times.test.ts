import t from 'tap';
import { courtd, Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';

runInProcess();

const daemon = await Daemon.start(t);

async function store(...sent: unknown[]): Promise<void> {
  const response = await daemon.post(sent);
  if (response.status !== 202) throw new Error(await response.text());
}

/** Exports as NDJSON on a box in a time zone. */
async function exported(session: string, options: string[], zone = 'UTC') {
  const args = ['export', session, '--format', 'ndjson', '--data', daemon.data, ...options];
  const { status, stdout, stderr } = await courtd(args, { TZ: zone });
  if (status !== 0) throw new Error(stderr);
  const lines: Record<string, unknown>[] = stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  return { lines, stderr };
}

async function ids(session: string, options: string[], zone?: string): Promise<unknown[]> {
  return (await exported(session, options, zone)).lines.map(({ event_id }) => event_id);
}

t.test("a time without an offset is the box's, and a bare date its midnight", async (t) => {
  const at = (event_id: string, eot: string) => event({ session_id: 'local', event_id, eot });
  await store(
    at('before midnight', '2026-03-13T22:59:59.999Z'),
    at('midnight', '2026-03-13T23:00:00Z'),
    at('two', '2026-03-14T13:00:00.5Z'),
    at('next midnight', '2026-03-14T23:00:00Z'),
  );
  const berlin = (...options: string[]) => ids('local', options, 'Europe/Berlin');
  t.strictSame(await berlin('--from', '2026-03-14', '--to', '2026-03-15'), ['midnight', 'two']);
  t.strictSame(await berlin('--to', '2026-03-14'), ['before midnight'], '--to is exclusive');
  t.strictSame(await berlin('--from', '2026-03-14T14:00:00.5'), ['two', 'next midnight']);
  t.strictSame(await berlin('--from', '2026-03-14 14:00:00.500000001'), ['next midnight']);
  t.strictSame(await berlin('--from', '2026-03-14T14:00', '--to', '2026-03-14T15:00+01:00'), ['two']);
  t.strictSame(await berlin('--from', '20260314t140000,5', '--to', '2026-03-14 24:00'), ['two']);
  t.strictSame(await berlin('--from', '20260314 1300Z', '--to', '2026-03-14T24:00:00+01'), ['two']);
  t.strictSame(await ids('local', ['--from', '2026-03-14T14:00'], 'America/New_York'), ['next midnight']);
});

t.test('a time of day alone is that of today', async (t) => {
  for (;;) {
    const now = new Date();
    const noon = new Date(now.getFullYear(), now.getMonth(), now.getDate(), 12);
    const session_id = noon.toDateString();
    const at = (event_id: string, ms: number) =>
      event({ session_id, event_id, eot: new Date(noon.getTime() + ms).toISOString() });
    await store(at('earlier', -1), at('noon', 0), at('later', 61_000));
    const options = ['--from', '12:00', '--to', '12:01:00'];
    const found = await ids(session_id, options, Intl.DateTimeFormat().resolvedOptions().timeZone);
    // Midnight has gone by meanwhile.
    if (new Date().getDate() !== now.getDate()) continue;
    t.strictSame(found, ['noon']);
    break;
  }
});

t.test(
  'where clocks change: a skipped time counts as later, one that comes twice is the first',
  async (t) => {
    const at = (eot: string) => event({ session_id: 'clocks', event_id: eot.slice(5, 16), eot });
    await store(
      ...['2026-03-29T00:59:00Z', '2026-03-29T01:29:00Z', '2026-03-29T01:31:00Z'].map(at),
      ...['2026-10-25T00:29:00Z', '2026-10-25T00:31:00Z', '2026-10-25T01:31:00Z'].map(at),
    );
    const from = async (time: string) => (await ids('clocks', ['--from', time], 'Europe/Berlin'))[0];
    t.equal(await from('2026-03-29T02:30'), '03-29T01:31', '02:30 does not exist, 03:30 is meant');
    t.equal(await from('2026-10-25T02:30'), '10-25T00:31', '02:30 in summer time');
  },
);

t.test('times that do not exist are wrong usage, with a sentence that shows some that do', async (t) => {
  for (const time of ['24:01', '14', '2026-02-30', '2026-03-14T', '14:00Z', '2026-3-1', 'T14:00', '']) {
    const result = await courtd(['export', 's', '--from', time]);
    t.match(
      result,
      { status: 2, stdout: '', stderr: /^courtd: [^\n]*(such as 14:00|The time must be)/ },
      time,
    );
  }
});

t.test('what matches nothing is reported, with what there is instead', async (t) => {
  const many = Array.from({ length: 12 }, (_, i) => event({ session_id: 'many', court_id: `court-${i}` }));
  await store(event({ session_id: 'some', court_id: 'court-7' }), ...many);
  const { lines, stderr } = await exported('some', ['--court', 'Court-7']);
  t.strictSame(lines, []);
  t.match(stderr, /No event matched.*"some".*court-7,.*BALL_BOUNCE,.*2026-03-14T15:09:26\.535Z/);
  t.match((await exported('many', ['--court', 'x'])).stderr, /court-0, court-1, [^\n]*court-9 and 2 more,/);
});
