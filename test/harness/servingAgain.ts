import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { type Child, cleanEnvironment, serveWith } from './daemon.ts';

/**
 * Daemons that serve in a process that has served before: two thirds of what a start takes is loading. For files whose subject is
 * what a box does and says, and not how its process starts and ends.
 */

/** What such a process receives (servingProcess.ts). */
export interface Serve {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Stands behind the log of a daemon that has ended well. One that was killed, or has failed, is followed by a new process. */
export const END = 0;
const PROCESS = path.resolve(import.meta.dirname, 'servingProcess.ts');

/** From now on `Daemon.start` and `Daemon.run` take such a process, if only courtd's own arguments are given. */
export function serveAgain(): void {
  serveWith((args, env) => new ServingAgain({ args, env }) as unknown as Child);
}

const idle = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of idle) child.kill('SIGKILL');
});

/** As much of a child process as a daemon takes. */
class ServingAgain extends EventEmitter {
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly #process: ChildProcess;
  #hasEnded = false;

  constructor(serve: Serve) {
    super();
    const [child = newProcess()] = idle;
    idle.delete(child);
    this.#process = child;
    const { stdout, stderr } = child as unknown as { stdout: Socket; stderr: Socket };
    const held = [child, child.channel!, stdout, stderr];
    for (const each of held) each.ref();
    const onOutput = (bytes: Buffer) => {
      if (bytes.at(-1) !== END) return this.stdout.write(bytes);
      this.stdout.write(bytes.subarray(0, -1));
      stdout.off('data', onOutput);
      stderr.off('data', onError);
      child.off('close', end);
      for (const each of held) each.unref();
      idle.add(child);
      end(0);
    };
    const onError = (bytes: Buffer) => this.stderr.write(bytes);
    const end = (status: number | null) => {
      this.#hasEnded = true;
      this.stdout.end();
      this.stderr.end();
      this.emit('close', status);
    };
    stdout.on('data', onOutput);
    stderr.on('data', onError);
    child.once('close', end);
    child.send(serve);
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  kill(signal: NodeJS.Signals): boolean {
    return !this.#hasEnded && this.#process.kill(signal);
  }
}

/** As those of daemon.ts it knows nothing of tap. */
function newProcess(): ChildProcess {
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, PROCESS], {
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  return child.once('exit', () => idle.delete(child));
}
