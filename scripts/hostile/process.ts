import fs from 'node:fs';
import os from 'node:os';

/** What /proc says of a process that is ours. */

/** @returns the memory that it has now, in bytes. */
export function residentBytes(pid: number): number {
  return statusKib(pid, 'VmRSS') * 1024;
}

/** @returns the most memory that it has had since `forgetPeak`, in bytes. */
export function peakBytes(pid: number): number {
  return statusKib(pid, 'VmHWM') * 1024;
}

/** From now on the peak is that of what follows; without the right to it, it stays that of the whole life. */
export function forgetPeak(pid: number): void {
  try {
    fs.writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {}
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
