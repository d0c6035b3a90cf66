import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import t, { type Test } from 'tap';
import { BIN, cleanEnvironment, Daemon } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { missingPrograms } from '../harness/needs.ts';

/** `courtd status --watch` on a terminal of its own, which `script` makes. */

const skip = missingPrograms({ script: 'bsdutils', stty: 'coreutils' }) ?? false;
const CLEAR = '\x1b[2J\x1b[H';

class Terminal {
  readonly #child;
  #shown = '';

  constructor(t: Test, data: string, columns: number) {
    const run = `stty cols ${columns} rows 16; exec ${BIN} status --watch --data ${data}`;
    const env = cleanEnvironment({ TERM: 'xterm', LANG: 'C.UTF-8', SHELL: '/bin/sh' });
    this.#child = spawn('script', ['-qfec', run, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdout.on('data', (chunk) => {
      this.#shown += chunk;
    });
    t.teardown(() => void this.#child.kill('SIGKILL'));
  }

  /** @returns the lines of the next screen that has such a text. */
  async shows(text: RegExp): Promise<string[]> {
    for (let from = this.#shown.length; ; ) {
      const screens = this.#shown.slice(from).split(CLEAR).slice(1, -1);
      const found = screens.map(stripVTControlCharacters).find((screen) => text.test(screen));
      if (found !== undefined) return found.trimEnd().split(/\r+\n/);
      await new Promise((resolve) => this.#child.stdout.once('data', resolve));
    }
  }

  type(keys: string): Promise<number | null> {
    const ended = new Promise<number | null>((resolve) => this.#child.once('close', resolve));
    this.#child.stdin.write(keys);
    return ended;
  }
}

t.test('it prints again every second, over a restart of the daemon, until Ctrl-C', { skip }, async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(event());
  const terminal = new Terminal(t, daemon.data, 80);
  await terminal.shows(/all is well/);
  await Promise.all([terminal.shows(/the daemon does not run/), daemon.stop()]);
  await Promise.all([terminal.shows(/all is well/), Daemon.run(t, daemon.data, daemon.token)]);
  t.not(await terminal.type('\x03'), null);
});

t.test(
  'on a phone no screen is wider or higher than it, and the problems come first',
  { skip },
  async (t) => {
    const daemon = await Daemon.start(t);
    for (let i = 0; i < 20; i++) {
      const camera = event({ source: `camera-number-${i}`, court_id: 'the-great-court' });
      await daemon.post({ ...camera, confidence: 2 });
    }
    for (const columns of [40, 34]) {
      const lines = await new Terminal(t, daemon.data, columns).shows(/attention/);
      t.ok(lines.length < 16, `${lines.length} lines`);
      const wide = lines.filter((line) => line.length > columns);
      t.strictSame(wide, []);
      t.match(lines[1], /^ ! {2}camera-number-/);
    }
  },
);
