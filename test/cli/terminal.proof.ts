import t, { type Test } from 'tap';
import { visible } from '../../src/base/visibleText.ts';
import { BIN, type CommandResult, Daemon, run } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';

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
  t.match(daemon.log.find(({ code }) => code === 'invalid_event')?.error, JSON.stringify(UNSAFE).slice(1, 8));
});
