import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

const MAIN = path.join(import.meta.dirname, 'playing-main.ts');

export interface PlayingCamera {
  /** `source` of its events. */
  readonly camera: string;
  readonly court: string;
  /** Its own, as in a venue. */
  readonly address: string;
  readonly token: string;
  /** Of each event, beside what it needs. */
  readonly noteBytes: number;
}

/** Cameras that send what happens now, each in a process of its own, so that one can die. */
export class Playing {
  readonly #cameras = new Map<string, ChildProcess>();

  /** @param leader a process that is in the network of the box. */
  start(leader: number, camera: PlayingCamera): void {
    const args = ['-t', String(leader), '-n', '--', process.execPath, MAIN, JSON.stringify(camera)];
    this.#cameras.set(camera.camera, spawn('nsenter', args, { stdio: ['ignore', 'ignore', 'inherit'] }));
  }

  /** @returns once it is dead. */
  async kill(camera: string): Promise<void> {
    const child = this.#cameras.get(camera)!;
    const gone = once(child, 'close');
    child.kill('SIGKILL');
    await gone;
  }

  end(): void {
    for (const child of this.#cameras.values()) child.kill('SIGKILL');
  }
}
