import t from 'tap';
import { drawSources } from '../../src/cli/status/sources.ts';
import { cut, lengthOf } from '../../src/cli/terminal/style.ts';
import type { SourceReport } from '../../src/telemetry/source.ts';
import { courtd, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { runInProcess } from '../harness/inProcess.ts';
import { serveAgain } from '../harness/servingAgain.ts';

runInProcess();
serveAgain();

/** `courtd status` as a person reads it: in a pipe, on a narrow screen. */

t.test(
  'in a pipe it is plain text, what is wrong stands first, and nothing of a camera steers a terminal',
  async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.post(event({ source: 'camera-\u202e1', eot: new Date().toISOString() }));
    await daemon.post({ ...event({ source: 'camera-\u202e1' }), confidence: 2 });
    const { status, stdout } = await daemon.command('status');
    t.equal(status, 1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there.
    t.notMatch(stdout, /[\x1b\u202e]/);
    const lines = stdout.split('\n');
    t.match(lines[0], /something needs attention \(1 problem\)/);
    t.match(lines[1], /camera-\\u202e1 on court-1: refused once, /);
    t.match(lines[2], /^ -> /);
    t.match(stdout, /\ncourt-1 +camera-\\u202e1 +sending/i);
  },
);

t.test('names in wide characters leave the columns where they are', async (t) => {
  const daemon = await Daemon.start(t);
  // Six columns each in a terminal.
  const names = ['コート', '준결승', 'court1', 'e\u0301cran1'];
  for (const name of names)
    await daemon.post(event({ court_id: name, session_id: name, eot: new Date().toISOString() }));
  for (const args of [['status'], ['session', 'list']]) {
    const { stdout } = await daemon.command(...args);
    const rests = names.map((name) => {
      const line = stdout.split('\n').find((line) => line.startsWith(name));
      return /^ +\S/.exec(line?.slice(name.length) ?? '')?.[0].length;
    });
    t.strictSame(new Set(rests), new Set([rests[2]!]), args.join(' '));
  }
  t.equal(cut('コート一号', 10), 'コート一号');
  t.equal(cut('コート一号', 9), 'コート一~');
  t.equal(cut('コート一号', 6), 'コー~');
});

t.test(
  'on a narrow screen the columns stay that an alarm is about, and a name goes that repeats the other',
  (t) => {
    const source = (more: object) =>
      ({
        source: 'cam',
        court_id: 'court-1',
        client: '10.0.7.31',
        state: 'sending',
        last_received_at: new Date(0).toISOString(),
        events_last_minute: 1_234,
        events_last_day: 98_765,
        clock_offset_s: 0,
        lateness_s: { p50: 0.1, p95: 0.2 },
        duplicates: 0,
        conflicts: 0,
        refused_last_day: 0,
        last_hour: [],
        in_conflict: [],
        ...more,
      }) as unknown as SourceReport;
    const draw = (columns: number, sources: readonly SourceReport[]) =>
      drawSources(sources, { columns, rows: 24, hasColor: false, ramp: ' .' }, 0);
    const headings = (columns: number, ...sources: readonly SourceReport[]) => {
      const lines = draw(columns, sources);
      const wide = lines.filter((line) => lengthOf(line) > columns);
      t.strictSame(wide, []);
      return lines[0]!.split(/ {2,}/).join(' ');
    };
    const [first, second] = [source({}), source({ source: 'radar' })];
    const far = source({ court_id: 'court-2' });
    t.equal(headings(45, first, second), 'SOURCE STATE LAST /MIN CLOCK LATE95');
    t.match(headings(80, first, second), /^COURT SOURCE STATE .* REFUSED /);
    t.equal(headings(34, first, far), 'COURT STATE LAST /MIN');
    t.equal(
      headings(34, first, source({ source: 'radar', clock_offset_s: -252 })),
      'SOURCE STATE LAST /MIN CLOCK',
    );
    t.equal(
      headings(34, first, source({ court_id: 'court-2', refused_last_day: 3 })),
      'COURT STATE LAST REFUSED',
    );
    t.match(
      headings(45, first, source({ source: 'radar', in_conflict: [{}], conflicts: 100 })),
      / CONFLICTS$/,
    );
    const long = ['court-1-cam', 'court-2-cam', 'court-2-radar'].map((name) =>
      source({ source: name, court_id: name.slice(0, 7) }),
    );
    t.equal(headings(45, ...long), 'SOURCE STATE LAST /MIN CLOCK');
    t.match(draw(45, [...long, far]), [
      /^COURT /,
      /^court-1 +~-cam /,
      /^court-2 +~-cam /,
      /^court-2 +~-radar /,
    ]);
    t.equal(
      headings(34, ...['コート一号', 'コート二号', '준결승'].map((court_id) => source({ court_id }))),
      'COURT STATE LAST /MIN',
    );
    t.end();
  },
);

t.test('--watch without a terminal, or with --json, is told', async (t) => {
  const data = temporaryFolder(t);
  for (const more of [[], ['--json']]) {
    const { status, stderr } = await courtd(['status', '--watch', ...more, '--data', data]);
    t.equal(status, 2);
    t.match(stderr, /--watch/);
  }
});
