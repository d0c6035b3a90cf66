import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import t, { type Test } from 'tap';
import { BIN, cleanEnvironment, Daemon, temporaryFolder } from '../harness/daemon.ts';
import { event } from '../harness/events.ts';
import { missingPrograms } from '../harness/needs.ts';

/** `courtd status --watch` on a terminal of its own, which `script` makes. */

const skip = missingPrograms({ script: 'bsdutils', stty: 'coreutils' }) ?? false;

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const SIZE: { readonly columns: number; readonly rows: number } = { columns: 80, rows: 24 };

class Terminal {
  readonly #child: ChildProcess;
  readonly #pidFile: string;
  readonly exited: Promise<number | null>;
  shown = '';
  #waiting: { readonly text: string | RegExp; readonly from: number; readonly found: () => void }[] = [];

  constructor(t: Test, data: string, env: Record<string, string> = {}, { columns, rows } = SIZE) {
    this.#pidFile = path.join(temporaryFolder(t), 'pid');
    const run = `stty cols ${columns} rows ${rows}; echo $$ > ${this.#pidFile}; exec ${BIN} status --watch --data ${data}`;
    const all = cleanEnvironment({ TERM: 'xterm', LANG: 'C.UTF-8', SHELL: '/bin/sh', ...env });
    this.#child = spawn('script', ['-qfec', run, '/dev/null'], {
      env: all,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.exited = new Promise((resolve) => this.#child.once('close', resolve));
    t.teardown(() => void this.#child.kill('SIGKILL'));
    this.#child.stdout!.on('data', (chunk) => {
      this.shown += chunk;
      const isShown = ({ text, from }: { text: string | RegExp; from: number }) =>
        this.shown.slice(from).search(text instanceof RegExp ? text : plain(text)) >= 0;
      for (const one of this.#waiting.filter(isShown)) one.found();
      this.#waiting = this.#waiting.filter((one) => !isShown(one));
    });
  }

  /** Resolves when this is drawn, from now on. @throws where it ends before. */
  shows(text: string | RegExp): Promise<void> {
    const from = this.shown.length;
    const isFound = new Promise<void>((found) => {
      this.#waiting.push({ text, from, found });
    });
    const isOver = this.exited.then((status) => {
      throw new Error(`ended with ${status} before it showed ${text}: ${this.shown.slice(from)}`);
    });
    return Promise.race([isFound, isOver]);
  }

  type(keys: string): void {
    this.#child.stdin!.write(keys);
  }

  kill(signal: NodeJS.Signals): void {
    process.kill(Number(fs.readFileSync(this.#pidFile, 'utf8')), signal);
  }
}

function plain(text: string): RegExp {
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
}

t.test('it goes on over a restart of the daemon, and q gives the terminal back', { skip }, async (t) => {
  const daemon = await Daemon.start(t);
  await daemon.post(event());
  const terminal = new Terminal(t, daemon.data);
  await terminal.shows('all is well');
  await Promise.all([terminal.shows('the daemon does not run'), daemon.stop()]);
  const back = terminal.shows('all is well');
  await Daemon.run(t, daemon.data, daemon.token);
  await back;
  terminal.type('q');
  t.equal(await terminal.exited, 0);
  t.ok(terminal.shown.includes(ENTER));
  t.ok(terminal.shown.endsWith(LEAVE));
});

t.test('SIGTERM and Ctrl-C give the terminal back, and NO_COLOR has no colours', { skip }, async (t) => {
  const daemon = await Daemon.start(t);
  for (const end of [(one: Terminal) => one.kill('SIGTERM'), (one: Terminal) => one.type('\x03')]) {
    const terminal = new Terminal(t, daemon.data, { NO_COLOR: '1' });
    await terminal.shows('all is well');
    end(terminal);
    t.equal(await terminal.exited, 0);
    t.ok(terminal.shown.endsWith(LEAVE));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what is looked for.
    t.notMatch(terminal.shown, /\x1b\[[\d;]*m/);
  }
});

t.test('a hundred cameras scroll, those with problems first', { skip }, async (t) => {
  const daemon = await Daemon.start(t);
  const sources = Array.from({ length: 100 }, (_, i) => ({ source: `camera-${i}`, court_id: `court-${i}` }));
  await daemon.post(sources.map((one) => event(one)));
  await daemon.post({ ...event({ source: 'wrong' }), confidence: 2 });
  const terminal = new Terminal(t, daemon.data);
  await terminal.shows(/SOURCE[^\n]*\n[^\n]*wrong/);
  const scrolled = terminal.shows(/ [34] to \d+ of 101/);
  terminal.type('\x1b[B\x1b[Bj');
  await scrolled;
  terminal.type('q');
  t.equal(await terminal.exited, 0);
  const rows = terminal.shown
    .split('\x1b[H')
    .slice(1)
    .map((screen) => screen.split('\r\n').length);
  t.strictSame([...new Set(rows)], [24], 'no screen has another height');
});

t.test(
  'on a phone no line is wider than the screen, which would push what is wrong off it',
  { skip },
  async (t) => {
    const daemon = await Daemon.start(t);
    for (let i = 0; i < 20; i++) {
      const camera = event({ source: `camera-number-${i}`, court_id: 'the-great-court' });
      await daemon.post({ ...camera, confidence: 2 });
    }
    const phones = [
      { columns: 45, rows: 20 },
      { columns: 34, rows: 16 },
    ];
    for (const size of phones) {
      const terminal = new Terminal(t, daemon.data, { NO_COLOR: '1' }, size);
      await terminal.shows('q ends this');
      terminal.type('q');
      t.equal(await terminal.exited, 0);
      const [screen = ''] = terminal.shown.split('\x1b[H').slice(1);
      const lines = stripVTControlCharacters(screen).split(/\r+\n/);
      t.strictSame(
        lines.filter((line) => line.length > size.columns),
        [],
      );
      t.match(lines[0], /all is well|attention/);
      t.match(lines.join('\n'), /\nSOURCE +STATE +/);
    }
  },
);
