import readline, { type Key } from 'node:readline';
import type { DataDirectory } from '../../base/dataDirectory.ts';
import { OperatorError } from '../../base/operatorError.ts';
import { pause } from '../../base/pause.ts';
import { END_SIGNALS } from '../../base/signals.ts';
import { visible } from '../../base/visibleText.ts';
import { yieldToIngest } from '../../base/yieldToIngest.ts';
import { makeReport, type StatusReport, type StoreView } from '../../health/status.ts';
import { fullScreen } from '../terminal/output.ts';
import { canvasOf, cut } from '../terminal/style.ts';
import { drawStatus } from './screen.ts';
import { askForView, lookAtStore } from './views.ts';

/** How often the daemon is asked, and how often the database is looked at, which takes longer. */
const ASK_MS = 1_000;
const LOOK_MS = 15_000;

/** By the names that Node gives to keys. */
const LINES: Readonly<Record<string, number>> = { up: -1, k: -1, down: 1, j: 1 };
const PAGES: Readonly<Record<string, number>> = { pageup: -1, pagedown: 1, space: 1 };

/** `courtd status --watch`: redraws in place until q, Ctrl-C or SIGTERM, and leaves the terminal as it was. */
export async function watch(data: DataDirectory): Promise<void> {
  yieldToIngest();
  // Whatever makes it impossible is told before the screen is taken.
  const screen = new Screen(data);
  await screen.look();
  const end = new AbortController();
  const stop = () => end.abort();
  const leave = takeTerminal(({ name = '', ctrl }) => {
    if (name === 'q' || (ctrl && (name === 'c' || name === 'd'))) stop();
    else screen.scrollBy(name);
  });
  for (const signal of END_SIGNALS) process.once(signal, stop);
  process.stdout.on('resize', () => screen.draw());
  process.once('exit', leave);
  try {
    while (!end.signal.aborted) {
      screen.draw();
      await pause(ASK_MS, end.signal);
      if (!end.signal.aborted) await screen.look();
    }
  } finally {
    process.stdout.removeAllListeners('resize');
    leave();
  }
}

class Screen {
  readonly #data: DataDirectory;
  #store: StoreView | undefined;
  #storeAt = Number.NEGATIVE_INFINITY;
  #wasRunning: boolean | undefined;
  #report: StatusReport | undefined;
  /** Why it cannot be looked at right now, such as a database that is locked. */
  #problem = '';
  #scroll = 0;

  constructor(data: DataDirectory) {
    this.#data = data;
  }

  /** @throws {OperatorError} only the first time. */
  async look(): Promise<void> {
    try {
      // Root becomes the owner of the directory with the first look.
      this.#store ??= await lookAtStore(this.#data);
      const view = await askForView(this.#data);
      const isRunning = view.daemon !== undefined;
      if (performance.now() - this.#storeAt > LOOK_MS || isRunning !== this.#wasRunning) {
        // While it runs, the daemon knows who has sent since.
        this.#store = await lookAtStore(this.#data, isRunning ? this.#store : undefined);
        this.#storeAt = performance.now();
      }
      this.#wasRunning = isRunning;
      this.#report = makeReport(view, this.#store, Date.now());
      this.#problem = '';
    } catch (error) {
      if (this.#report === undefined || !(error instanceof OperatorError)) throw error;
      this.#problem = error.message;
    }
  }

  scrollBy(key: string): void {
    const page = Math.max(1, (process.stdout.rows ?? 24) >> 1);
    const by = LINES[key] ?? (PAGES[key] ?? 0) * page;
    const most = (this.#report?.sources.length ?? 1) - 1;
    this.#scroll = Math.max(0, Math.min(most, this.#scroll + by));
    if (by !== 0) this.draw();
  }

  draw(): void {
    if (this.#report === undefined) return;
    const canvas = canvasOf(process.stdout);
    const { columns = 80, rows = 24 } = canvas;
    const lines = drawStatus(this.#report, canvas, Date.now(), this.#scroll).slice(0, rows - 1);
    const last = this.#problem === '' ? 'q ends this' : visible(this.#problem);
    while (lines.length < rows - 1) lines.push('');
    fullScreen.draw([...lines, cut(last, columns - 1)]);
  }
}

/** @returns what gives it back: it may be called more than once. */
function takeTerminal(onKey: (key: Key) => void): () => void {
  const { stdin } = process;
  const isTaken = stdin.isTTY === true;
  if (isTaken) {
    readline.emitKeypressEvents(stdin);
    stdin.setRawMode(true);
    stdin.on('keypress', (_text, key: Key) => onKey(key));
  }
  fullScreen.enter();
  let isGone = false;
  return () => {
    if (isGone) return;
    isGone = true;
    fullScreen.leave();
    if (!isTaken) return;
    stdin.setRawMode(false);
    stdin.pause();
  };
}
