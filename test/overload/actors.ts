import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { promisify } from 'node:util';
import type { CameraOrder, CameraReport } from './camera.ts';
import type { AttackOrder, Tally, Target } from './wire.ts';

/** Cameras and attackers as the measuring side sees them: processes that report. */

const here = (file: string) => path.join(import.meta.dirname, file);

/** @returns nothing else of it: a daemon has its log, which is soon longer than an argument of a process may be. */
function bare({ port, token }: Target): Target {
  return { port, token };
}

/** Two cameras with 20 requests a second each, 5 events in each. */
export async function watchCameras(target: Target, seconds: number): Promise<CameraReport> {
  const order: CameraOrder = { target: bare(target), cameras: 2, perSecond: 20, events: 5, seconds };
  const args = [here('camera.ts'), JSON.stringify(order)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 });
  return JSON.parse(stdout);
}

export class Attacker {
  static readonly #alive = new Set<ChildProcess>();
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** @returns once it is in full swing. */
  static async start(order: AttackOrder): Promise<Attacker> {
    const text = JSON.stringify({ ...order, target: bare(order.target) });
    const child = fork(here('attacker.ts'), [text], { execArgv: [] });
    Attacker.#alive.add(child);
    child.once('exit', () => Attacker.#alive.delete(child));
    const failed = once(child, 'exit').then(([code]) => {
      throw new Error(`The attack ${order.name} ended by itself with ${code}.`);
    });
    failed.catch(() => {});
    await Promise.race([once(child, 'message'), failed]);
    return new Attacker(child);
  }

  /** @returns what it has been answered since the last time. */
  async answers(): Promise<Tally> {
    const told = once(this.#child, 'message');
    this.#child.send('answers');
    return (await told)[0] as Tally;
  }

  async stop(): Promise<void> {
    const over = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await over;
  }

  static endAll(): void {
    for (const child of Attacker.#alive) child.kill('SIGKILL');
  }
}
