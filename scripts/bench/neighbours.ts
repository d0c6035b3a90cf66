import { spawnSync } from 'node:child_process';
import path from 'node:path';
import type { Child } from './child.ts';
import { COURTD, command } from './courtd.ts';

/** Somebody else at work on the database while cameras send: the same command again and again. */
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
    // Told by `end`.
    this.#work.catch(() => {});
  }

  /** @returns how many times it did its work, once the last time is over. */
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

/** @returns those that this courtd has; checkpoints run anyway. */
export function neighbours(directory: string, session: string): Neighbour[] {
  const data = ['--data', directory];
  const found = [
    new Neighbour('a million events are exported', () =>
      command('export', session, ...data, '-o', '/dev/null'),
    ),
  ];
  if (hasCommand('backup')) {
    const copy = (turn: number) =>
      path.join(directory, '..', `${path.basename(directory)}-backup-${turn}.db`);
    found.push(new Neighbour('a backup is taken', (turn) => command('backup', copy(turn), ...data)));
  }
  return found;
}

function hasCommand(name: string): boolean {
  return new RegExp(`^  ${name}\\b`, 'm').test(spawnSync(COURTD, ['--help'], { encoding: 'utf8' }).stdout);
}
