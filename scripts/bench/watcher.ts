import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child, cpuSecondsOf } from './child.ts';
import { COURTD } from './courtd.ts';

const LOOK_MS = 20;

/** An observer of a running box, in separate processes, until it is stopped. */
export class Watcher {
  readonly title: string;
  readonly #child: Child;
  /** Of the courtd in it. */
  readonly #pidFile: string;

  private constructor(title: string, script: string, folder: string) {
    this.title = title;
    this.#pidFile = path.join(folder, 'pid');
    const input = path.join(folder, 'input');
    execFileSync('mkfifo', [input, path.join(folder, 'output')]);
    // Its input never ends, like that of a terminal.
    this.#child = new Child('sh', ['-c', `set -e; cd '${folder}'; exec 0<>input; ${script}`]);
  }

  /** `courtd tail --follow --json`, into a pipe that somebody reads. @param folder empty, and its own. */
  static tail(data: string, folder: string): Watcher {
    const command = `exec '${COURTD}' tail --follow --json --data '${data}' >output`;
    return new Watcher('tail --follow', `cat <output >/dev/null & echo $$ >pid; ${command}`, folder);
  }

  /** `courtd status --watch`, on a terminal. */
  static status(data: string, folder: string): Watcher {
    const command = `stty cols 80 rows 24; echo $$ >pid; exec '${COURTD}' status --watch --data '${data}'`;
    return new Watcher(
      'status --watch',
      `exec script -qfec "${command.replace('$$', '\\$\\$')}" /dev/null`,
      folder,
    );
  }

  /** @returns once it runs. */
  async started(): Promise<void> {
    while (this.#pid === undefined) {
      if (this.#child.hasEnded) this.#child.fail();
      await sleep(LOOK_MS);
    }
  }

  /** @returns the CPU time of its courtd so far. @throws {Error} where it has ended. */
  cpuSeconds(): number {
    if (this.#child.hasEnded) this.#child.fail();
    return cpuSecondsOf(this.#pid!);
  }

  async stop(): Promise<void> {
    const pid = this.#pid;
    if (pid !== undefined && !this.#child.hasEnded) process.kill(pid, 'SIGTERM');
    await this.#child.stop();
  }

  get #pid(): number | undefined {
    const text = fs.existsSync(this.#pidFile) ? fs.readFileSync(this.#pidFile, 'utf8') : '';
    return text.endsWith('\n') ? Number(text) : undefined;
  }
}
