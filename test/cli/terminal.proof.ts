import t, { type Test } from 'tap';
import { visible } from '../../src/base/visibleText.ts';
import { BIN, type CommandResult, courtd, Daemon, run, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { FakeSystemd } from '../harness/fakeSystemd.ts';

/** C1's CSI and OSC, DEL, a bidirectional override and isolate, a line separator. */
const UNSAFE = '\u009b31m \u009d0;title\u0007 \u007f \u202elive\u2066 \u2028';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OBEYED = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u2028]/;
const NAME = 'match \u202e71';

const daemon = await Daemon.start(t);
const sent = event({ session_id: NAME, event_id: 'e', court_id: 'c\u2066', payload: { note: UNSAFE } });
if ((await daemon.post(sent)).status !== 202) throw new Error('not stored');

/** Runs a command on a terminal. */
function onTerminal(...args: string[]): Promise<CommandResult> {
  const spawn = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))';
  return run('python3', ['-c', spawn, BIN, ...args, '--data', daemon.data]);
}

function isTame(t: Test, text: string, what: string): void {
  t.notMatch(text, OBEYED, what);
  t.match(text, /\\u202e/, what);
}

t.test(
  'data is as it was sent in a pipe, and tame on a terminal, where JSON is the same value',
  async (t) => {
    for (const args of [
      ['event', 'show', NAME, 'e', '--json'],
      ['session', 'list', '--json'],
      ['session', 'show', NAME, '--json'],
      ['export', NAME, '--format', 'ndjson'],
      ['export', NAME],
    ]) {
      const [inPipe, terminal] = await Promise.all([daemon.command(...args), onTerminal(...args)]);
      t.match(inPipe.stdout, '\u202e', visible(args.join(' ')));
      t.equal(terminal.status, 0);
      isTame(t, terminal.stdout, visible(args.join(' ')));
      if (args.includes('--json')) t.strictSame(JSON.parse(terminal.stdout), JSON.parse(inPipe.stdout));
    }
  },
);

t.test("the daemon's log has none of it either, and is the same JSON", async (t) => {
  const daemon = await Daemon.start(t);
  let text = '';
  daemon.child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  t.equal((await daemon.post(event({ source: 'camera \u202e', event_id: UNSAFE }))).status, 400);
  await daemon.stop();
  isTame(t, text, 'the log');
  t.match(daemon.log.find(({ code }) => code === 'invalid_event')?.msg, JSON.stringify(UNSAFE).slice(1, 8));
});

const NARROW = `import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
  fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 40, 0, 0))
  os.execvp(sys.argv[1], sys.argv[1:])
try:
  while True: os.write(1, os.read(fd, 1000))
except OSError: pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;

t.test('on a terminal check is as wide as that, and has colours unless NO_COLOR is set', async (t) => {
  const data = temporaryFolder(t);
  t.match(await courtd(['token', 'rotate', '--data', data]), { status: 0 });
  const system = new FakeSystemd(t);
  const shown = async (env: Record<string, string>) => {
    const args = ['-c', NARROW, BIN, 'check', '--data', data];
    return (await run('python3', args, { env: { ...process.env, ...system.environment(env) } })).stdout;
  };
  const plain = await shown({ NO_COLOR: '1' });
  t.notMatch(plain, '\u001b');
  const lines = plain.split('\r\n');
  t.ok(lines.length > 12);
  for (const line of lines.filter((line) => /\s\S+\s/.test(line.trim()))) t.ok(line.length <= 40, line);
  const coloured = await shown({ NO_COLOR: '' });
  t.match(coloured, '\u001b[33mwarn  \u001b[0mtimer: ');
  t.match(coloured, '\u001b[33mwarn  \u001b[0mbackup: ');
  t.match(coloured, '\u001b[32mok    \u001b[0m');
});
