import t from 'tap';
import { cut } from '../../src/cli/terminal/style.ts';
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
    t.match(lines[1], /camera-\\u202e1 on court-1: 1 request /);
    t.match(lines[2], /^ -> /);
    t.match(stdout, /\nsending +\d+s {2}court-1 +camera-\\u202e1 /);
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

t.test('--watch without a terminal, or with --json, is told', async (t) => {
  const data = temporaryFolder(t);
  for (const more of [[], ['--json']]) {
    const { status, stderr } = await courtd(['status', '--watch', ...more, '--data', data]);
    t.equal(status, 2);
    t.match(stderr, /--watch/);
  }
});
