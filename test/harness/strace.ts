import { once } from 'node:events';
import path from 'node:path';
import { type Cleanup, type Daemon, run, start } from './daemon.ts';

/** Makes the system calls of a running daemon fail or wait, for as long as one likes. */

/** Why that cannot be done here; false if it can. */
export const withoutStrace: string | false =
  (await run('strace', ['-qq', '-o', '/dev/null', 'true'])).status !== 0 &&
  'strace is not installed, or may not trace';

/** What SQLite calls to put something on the disk. */
export const SYNC = 'fsync,fdatasync';
export const WRITE = 'pwrite64';
/** And to read from it. */
export const READ = 'pread64';

export interface FaultOptions {
  /** Names of system calls, with commas. */
  readonly calls: string;
  /** What strace calls an injection, such as `error=EIO`. */
  readonly effect: string;
  /** Only for this file of the data directory; absent: for every file. */
  readonly file?: string;
}

/** @returns the arguments of strace, but for what it is to trace. */
export function straceArguments(data: string, { calls, effect, file }: FaultOptions): string[] {
  const where = file === undefined ? [] : ['-P', path.join(data, file)];
  return ['-f', '-e', `trace=${calls}`, '-e', `inject=${calls}:${effect}`, ...where];
}

export class Fault {
  readonly #child: ReturnType<typeof start>;
  #text = '';

  private constructor(child: ReturnType<typeof start>) {
    this.#child = child;
    child.stderr.on('data', (chunk) => {
      this.#text += chunk;
    });
  }

  /** Begins the fault. @returns once the process is under it. */
  static async begin(
    t: Cleanup,
    { child: { pid }, data }: Pick<Daemon, 'child' | 'data'>,
    options: FaultOptions,
  ): Promise<Fault> {
    const child = start('strace', ['-p', String(pid), ...straceArguments(data, options)]);
    // One that has lost its process may hang.
    t.teardown(() => child.kill('SIGKILL'));
    const fault = new Fault(child);
    while (!/attached/.test(fault.#text)) await once(child.stderr, 'data');
    return fault;
  }

  /** @returns once a system call waits under it. */
  async met(): Promise<void> {
    while (!/\w\(/.test(this.#text)) await once(this.#child.stderr, 'data');
  }

  /** System calls that it has met so far. */
  get calls(): number {
    return this.#text.match(/INJECTED|DELAYED/g)?.length ?? 0;
  }

  /** Kills the daemon while its calls wait: it ends only when strace releases it, and makes none of them. */
  async kill(daemon: Daemon): Promise<void> {
    const stopped = daemon.stop('SIGKILL');
    this.#child.kill('SIGKILL');
    await stopped;
  }

  /** Ends the fault: the daemon, which must be alive, continues without it. */
  async end(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }
}
