import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { type Cleanup, run, temporaryFolder } from './daemon.ts';

/** A PostgreSQL of the test's own, in a folder that goes away, on a unix socket in it: no port, nobody else's data. */

const VERSIONS = '/usr/lib/postgresql';

/** @returns why there is none here; false where there is. */
export function missingPostgres(): string | false {
  return (
    programs() === undefined &&
    'PostgreSQL is missing. On Debian: apt-get install --no-install-recommends postgresql'
  );
}

/** @returns the folder of the newest one's programs. */
function programs(): string | undefined {
  const versions = fs.existsSync(VERSIONS) ? fs.readdirSync(VERSIONS) : [];
  const folders = versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => `${VERSIONS}/${version}/bin`);
  return folders.find((folder) => fs.existsSync(path.join(folder, 'initdb')));
}

/** Starts it; it is stopped after the test. @returns the URL of its database. */
export async function startPostgres(t: Cleanup): Promise<string> {
  const folder = temporaryFolder(t);
  const data = path.join(folder, 'data');
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) execFileSync('chown', ['postgres', folder]);
  const as = async (program: string, ...args: string[]) => {
    const all = [path.join(programs()!, program), ...args];
    const [first, ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', ...all] : all;
    const { status, stdout, stderr } = await run(first!, rest, { cwd: folder });
    if (status !== 0) throw new Error(`${program} ended with ${status}: ${stdout}${stderr}`);
  };
  await as('initdb', '-D', data, '-U', 'courtd', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync');
  t.teardown(() => as('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop'));
  const settings = `-k ${folder} -c listen_addresses= -c fsync=off`;
  await as('pg_ctl', '-D', data, '-l', path.join(folder, 'log'), '-o', settings, '-w', '-t', '120', 'start');
  return `postgres://courtd@/postgres?host=${encodeURIComponent(folder)}`;
}
