import fs from 'node:fs';

/** More would be one program with its children. */
const NAMED = 3;
/** The state LISTEN, and where the port, the state and the inode stand: proc_net_tcp(5). */
const LISTENING = '0A';

/**
 * Looks in /proc. Root sees all programs, a user his own.
 * @returns who listens on a TCP port of this machine, such as `nginx (process 812)`; undefined where that cannot be seen.
 */
export function portHolder(port: number): string | undefined {
  try {
    const sockets = new Set(['tcp', 'tcp6'].flatMap((name) => socketsOf(name, port)));
    if (sockets.size === 0) return undefined;
    const holders = fs.readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && hasOne(pid, sockets));
    const names = holders
      .slice(0, NAMED)
      .map((pid) => `${fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim()} (process ${pid})`);
    return names.length === 0 ? undefined : names.join(', ');
  } catch {
    // There is no /proc, or one of them has just ended.
    return undefined;
  }
}

/** @returns links as in /proc/PID/fd. */
function socketsOf(name: string, port: number): string[] {
  const lines = fs.readFileSync(`/proc/net/${name}`, 'utf8').trim().split('\n').slice(1);
  return lines.flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    const isIt = state === LISTENING && Number.parseInt(local.split(':').at(-1)!, 16) === port;
    return isIt ? [`socket:[${inode}]`] : [];
  });
}

function hasOne(pid: string, sockets: ReadonlySet<string>): boolean {
  try {
    return fs.readdirSync(`/proc/${pid}/fd`).some((fd) => isOne(`/proc/${pid}/fd/${fd}`, sockets));
  } catch {
    return false;
  }
}

function isOne(link: string, sockets: ReadonlySet<string>): boolean {
  try {
    return sockets.has(fs.readlinkSync(link));
  } catch {
    return false;
  }
}
