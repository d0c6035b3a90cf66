import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { unmountFrom, type Workshop } from '../harness/workshop.ts';
import { makeCgroup } from './cgroup.ts';

const DISK_SIZE = '3G';
/** A minute, on a machine that does not stop. */
const BOOT_LOOKS = 3_000;
const LOOK_MS = 20;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const JOURNAL_LINES = 40;

export interface Said {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A Debian that boots its own systemd in a container, with a network of its own that leads nowhere. */
export class Box {
  /** Its root, as this machine sees it. */
  readonly root: string;
  readonly #workshop: Workshop;
  readonly #name: string;
  readonly #cgroup: readonly string[];
  #nspawn: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #leader = 0;
  /** Commands that have not ended, for the report of a step that hangs. */
  readonly running = new Set<string>();

  /** @param tree that it starts from, and leaves as it is. */
  constructor(workshop: Workshop, tree: string, name: string) {
    this.#workshop = workshop;
    this.#name = name;
    const folder = workshop.file(name);
    const [upper, work, root] = ['upper', 'work', 'root'].map((part) => path.join(folder, part));
    fs.mkdirSync(folder);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_SIZE},mode=755`, name, folder]);
    workshop.onEnd(() => unmountFrom(folder));
    for (const part of [upper!, work!, root!]) fs.mkdirSync(part);
    const layers = `lowerdir=${tree},upperdir=${upper},workdir=${work}`;
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, root!]);
    workshop.onEnd(() => unmountFrom(root!));
    this.root = root!;
    this.#cgroup = makeCgroup(workshop, name);
    workshop.onEnd(() => this.#kill());
  }

  /** The first process in it, by its number outside. */
  get leader(): number {
    return this.#leader;
  }

  /** @returns once everything that starts by itself has started. @throws {Error} with the console's last lines. */
  async boot(): Promise<void> {
    const console = this.#workshop.file(`${this.#name}.console`);
    const log = fs.openSync(console, 'a');
    const enter = this.#cgroup.map((file) => `echo $$ > '${file}'`).join(' && ');
    const options = [
      '--private-network',
      '--link-journal=no',
      '--resolv-conf=off',
      '--timezone=off',
      '--console=pipe',
      // For IPAddressDeny=, which is a program in the kernel.
      '--system-call-filter=bpf',
      '--capability=CAP_BPF',
    ];
    const how = [
      '--quiet',
      `--directory=${this.root}`,
      `--machine=${this.#name}`,
      '--register=no',
      '--keep-unit',
    ];
    // In a session of its own: Ctrl-C ends this script, and this script ends the container.
    this.#nspawn = spawn(
      'sh',
      ['-c', `${enter} && exec systemd-nspawn "$@"`, 'sh', ...how, ...options, '--boot'],
      {
        detached: true,
        stdio: ['ignore', log, log],
        env: { PATH: process.env.PATH, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' },
      },
    );
    fs.closeSync(log);
    const nspawn = this.#nspawn;
    this.#ended = new Promise((resolve) => nspawn.once('close', () => resolve()));
    for (let looks = 0; looks < BOOT_LOOKS && nspawn.exitCode === null; looks++) {
      this.#leader ||= systemdUnder(nspawn.pid!);
      if (this.#leader > 0) {
        const state = (await this.run('systemctl', 'is-system-running')).stdout.trim();
        if (['running', 'degraded'].includes(state)) return;
      }
      await sleep(LOOK_MS);
    }
    throw new Error(`${this.#name} does not boot: ${fs.readFileSync(console, 'utf8').slice(-2000)}`);
  }

  /** As from a shell of root's, with an empty environment. */
  run(command: string, ...args: string[]): Promise<Said> {
    const child = this.#enter(command, args);
    const said = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream]!.setEncoding('utf8').on('data', (text: string) => {
        said[stream] += text;
      });
    }
    return new Promise((resolve) => child.once('close', (status) => resolve({ status, ...said })));
  }

  /** @returns its output. @throws {Error} if it ends with anything but 0. */
  async must(command: string, ...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await this.run(command, ...args);
    if (status === 0) return stdout.trim();
    throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${(stderr + stdout).trim()}`);
  }

  /** @returns the lines of its output as they come. @throws {Error} at the end, if its exit status is not 0. */
  async *lines(command: string, ...args: string[]): AsyncGenerator<string> {
    const child = this.#enter(command, args);
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    let errors = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    yield* readline.createInterface({ input: child.stdout! });
    const status = await ended;
    if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${errors.trim()}`);
  }

  /** @returns one property of a unit, as `systemctl show` has it. */
  async show(unit: string, property: string): Promise<string> {
    return this.must('systemctl', 'show', unit, `--property=${property}`, '--value');
  }

  /** @returns the journal's last lines of the unit, without what is said of each camera. */
  async journal(unit: string): Promise<string> {
    const { stdout } = await this.run('journalctl', '--unit', unit, '--no-pager', '--output=short-monotonic');
    return stdout
      .trim()
      .split('\n')
      .filter((line) => !line.includes('first events from this client'))
      .slice(-JOURNAL_LINES)
      .join('\n');
  }

  /** From within, as an administrator would. @returns once everything has started again. */
  async reboot(): Promise<void> {
    await this.run('systemctl', 'reboot');
    await this.#over();
    await this.boot();
  }

  /** Every process in it is killed at the same time; what is on its disk stays. */
  async pullPlug(): Promise<void> {
    this.#kill();
    await this.#over();
  }

  async #over(): Promise<void> {
    await this.#ended;
    this.#nspawn = undefined;
    this.#leader = 0;
  }

  #enter(command: string, args: readonly string[]): ChildProcess {
    const within = ['-t', String(this.#leader), '-m', '-u', '-i', '-n', '-p', '-C', 'env', '-i'];
    const env = [`PATH=${PATH}`, 'HOME=/root', 'TERM=dumb', 'LANG=C.UTF-8', 'DEBIAN_FRONTEND=noninteractive'];
    const child = spawn('nsenter', [...within, ...env, command, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = [command, ...args].join(' ');
    this.running.add(said);
    child.once('close', () => this.running.delete(said));
    return child;
  }

  /** All of it ends with its first process. */
  #kill(): void {
    if (this.#nspawn === undefined || this.#nspawn.exitCode !== null) return;
    // systemd-nspawn ends with it.
    process.kill(this.#leader || this.#nspawn.pid!, 'SIGKILL');
  }
}

/** @returns the systemd that a systemd-nspawn has started; 0: not yet. */
function systemdUnder(nspawn: number): number {
  try {
    const children = fs.readFileSync(`/proc/${nspawn}/task/${nspawn}/children`, 'utf8').trim().split(' ');
    const isSystemd = (pid: string) => fs.readFileSync(`/proc/${pid}/comm`, 'utf8') === 'systemd\n';
    return Number(children.find((pid) => pid !== '' && isSystemd(pid)) ?? 0);
  } catch {
    return 0;
  }
}
