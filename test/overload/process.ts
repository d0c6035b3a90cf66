import fs from 'node:fs';
import os from 'node:os';

/** What /proc says of a process that is ours. */

/** @returns the memory that it has now, in bytes. */
export function residentBytes(pid: number): number {
  return statusKib(pid, 'VmRSS') * 1024;
}

/**
 * The most memory that a process has from now on, or in its whole life where it is not allowed to tell the two apart. It is
 * looked at all the while: a process that has ended has none.
 */
export class PeakMemory {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  #bytes = 0;

  constructor(pid: number) {
    this.#pid = pid;
    try {
      fs.writeFileSync(`/proc/${pid}/clear_refs`, '5');
    } catch {}
    this.#timer = setInterval(() => this.#look(), 100);
  }

  /** @returns bytes. */
  end(): number {
    clearInterval(this.#timer);
    this.#look();
    return this.#bytes;
  }

  #look(): void {
    try {
      this.#bytes = Math.max(this.#bytes, statusKib(this.#pid, 'VmHWM') * 1024 || 0);
    } catch {}
  }
}

export function openFiles(pid: number): number {
  return fs.readdirSync(`/proc/${pid}/fd`).length;
}

/** @returns the processor time that it has had, in seconds. */
export function processorS(pid: number): number {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // utime and stime, in ticks of 10 ms (proc(5)).
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/**
 * Who goes first where there are fewer processors than processes: in a venue all of these have machines of their own,
 * and whoever else works on this one is not there. Where it is not allowed, it is left.
 */
export function giveWay(pid: number, rank: 'camera' | 'courtd' | 'attacker'): void {
  try {
    os.setPriority(pid, { camera: -18, courtd: -12, attacker: -6 }[rank]);
  } catch {}
}

function statusKib(pid: number, field: string): number {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]);
}
