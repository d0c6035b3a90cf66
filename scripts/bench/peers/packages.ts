import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { say } from '../../../src/cli/terminal/output.ts';

/** Debian's packages that the peers and their measurement take; the names are those of Debian 12. */
const PACKAGES = [
  ...['wrk', 'strace', 'gcc', 'libc6-dev', 'golang-go'],
  ...['golang-github-json-iterator-go-dev', 'golang-github-mattn-go-sqlite3-dev'],
  ...['postgresql', 'golang-github-jackc-pgx-v4-dev'],
  ...['redis-server', 'golang-github-gomodule-redigo-dev'],
  ...['etcd-server', 'golang-etcd-server-dev', 'influxdb'],
  // For the power cuts.
  ...['qemu-system-common', 'fuse3', 'e2fsprogs', 'mount'],
];

/** With a package.json of its own: what no test needs is not installed with courtd's packages. */
const BENCH = path.resolve(import.meta.dirname, '..');

/** @returns why a server that stands on Fastify cannot take part; undefined where it can. */
export function missingFastify(): string | undefined {
  if (fs.existsSync(path.join(BENCH, 'node_modules/fastify/package.json'))) return undefined;
  return 'Fastify is not installed: npm ci --prefix scripts/bench';
}

/** Installs what is missing, where it may; a peer that lacks something afterwards is left out, and says what. */
export function installMissing(): void {
  if (missingFastify() !== undefined) {
    say('Installing Fastify from npm.');
    const args = ['ci', '--prefix', BENCH, '--ignore-scripts', '--no-audit', '--no-fund'];
    if (spawnSync('npm', args, { stdio: 'ignore' }).status !== 0) say('npm could not install Fastify.');
  }
  const missing = PACKAGES.filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).error !== undefined) {
    say(`Not everything is installed. On Debian, run this with sudo, or before it:
    sudo apt-get install --no-install-recommends ${missing.join(' ')}\n`);
    return;
  }
  say(`Installing from Debian: ${missing.join(', ')}.`);
  apt('update');
  if (install(missing)) return;
  // Another release of Debian lacks one or the other.
  for (const name of missing) if (!install([name])) say(`apt-get could not install ${name}.`);
}

function isInstalled(name: string): boolean {
  const { stdout } = spawnSync('dpkg-query', ['--status', name], { encoding: 'utf8' });
  return /^Status: .* installed$/m.test(stdout ?? '');
}

function install(names: readonly string[]): boolean {
  return apt('install', '-y', '--no-install-recommends', ...names);
}

function apt(...args: readonly string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync('apt-get', args, { env, stdio: 'ignore' }).status === 0;
}
