import path from 'node:path';
import type { Child } from './child.ts';
import { command } from './courtd.ts';

/** Another user of the database while cameras send: one command, repeated. */
export class Neighbour {
  /** Follows "while". */
  readonly title: string;
  readonly #start: (turn: number) => Child;
  #isOver = false;
  #work: Promise<number> = Promise.resolve(0);

  constructor(title: string, start: (turn: number) => Child) {
    this.title = title;
    this.#start = start;
  }

  begin(): void {
    this.#work = this.#repeat();
    // `end` reports the failure.
    this.#work.catch(() => {});
  }

  /** Waits for the last run. @returns the number of runs. */
  end(): Promise<number> {
    this.#isOver = true;
    return this.#work;
  }

  async #repeat(): Promise<number> {
    let times = 0;
    for (; !this.#isOver; times++) await this.#start(times).output();
    return times;
  }
}

export function neighbours(directory: string, session: string): Neighbour[] {
  const data = ['--data', directory];
  const copy = (turn: number) => path.join(directory, '..', `${path.basename(directory)}-backup-${turn}.db`);
  return [
    new Neighbour('a million events are exported', () =>
      command('export', session, ...data, '-o', '/dev/null'),
    ),
    new Neighbour('a backup is taken', (turn) => command('backup', copy(turn), ...data)),
  ];
}
