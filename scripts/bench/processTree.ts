import fs from 'node:fs';

/** Processes of this machine, by /proc. */

/** @returns '' where there is no /proc, or the process has ended. */
export function readProc(pid: number, file: string): string {
  try {
    return fs.readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** @returns a process and everything that it has started, directly or not: a database server is a dozen. */
export function processTree(pid: number): number[] {
  const tasks = readProc(pid, `task/${pid}/children`).split(' ');
  // A child belongs to the thread that started it.
  const others = threads(pid).filter((thread) => thread !== String(pid));
  const children = [
    ...tasks,
    ...others.flatMap((thread) => readProc(pid, `task/${thread}/children`).split(' ')),
  ];
  return [pid, ...children.filter((child) => child !== '').flatMap((child) => processTree(Number(child)))];
}

/** Sends a signal to a process that may have ended. */
export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function threads(pid: number): string[] {
  try {
    return fs.readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}
