import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';

/** The Debian releases that courtd is made for: 12 and 13. */
export const SUITES = ['bookworm', 'trixie'] as const;
export type Suite = (typeof SUITES)[number];

/** Nothing but what every Debian has, and what boots it: what courtd needs beyond it, it must bring. */
const INCLUDE = 'systemd-sysv,dbus';
const HOSTS = '127.0.0.1 localhost\n::1 localhost\n';

/**
 * A Debian tree, made once and then kept: in $XDG_CACHE_HOME, or in /var/cache.
 * @returns its folder; nobody writes to it.
 * @throws {Error} with what mmdebstrap said, if there is none to be had.
 */
export async function debianTree(suite: Suite): Promise<string> {
  const cache = path.join(process.env.XDG_CACHE_HOME || '/var/cache', 'courtd-appliance');
  const tree = path.join(cache, suite);
  if (fs.existsSync(tree)) return tree;
  fs.mkdirSync(cache, { recursive: true });
  // Made aside: a tree that is there is whole. Others may be making it as well.
  const aside = fs.mkdtempSync(path.join(cache, `.${suite}-`));
  try {
    await mmdebstrap(suite, aside);
    fs.chmodSync(aside, 0o755);
    fs.writeFileSync(path.join(aside, 'etc/hosts'), HOSTS);
    fs.renameSync(aside, tree);
  } catch (error) {
    fs.rmSync(aside, { recursive: true, force: true });
    if (!fs.existsSync(tree)) throw error;
  }
  return tree;
}

async function mmdebstrap(suite: Suite, folder: string): Promise<void> {
  const args = ['--quiet', '--variant=minbase', `--include=${INCLUDE}`, '--components=main', suite, folder];
  const child = spawn('mmdebstrap', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const kill = () => child.kill();
  process.once('exit', kill);
  const [status] = await once(child, 'close');
  process.off('exit', kill);
  if (status !== 0)
    throw new Error(`No Debian ${suite} can be had here. mmdebstrap: ${said.trim().slice(-500)}`);
}
