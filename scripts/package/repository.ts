import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** An apt repository in one folder, for a web server or a USB stick: what a box needs to take updates by itself. */

export interface RepositoryOptions {
  readonly folder: string;
  /** A file with the secret key that signs it. */
  readonly key: string | undefined;
  /** The name of the repository (Origin and Label), by which unattended-upgrades knows it. */
  readonly origin: string;
}

export interface Repository {
  /** The repository in one file, for a USB stick. */
  readonly archive: string;
  /** The fingerprint of the key; undefined: it is unsigned. */
  readonly fingerprint: string | undefined;
  /** The files that a box needs besides the key, by their paths there. */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * The folder on a box, unless the integrator serves it. It uses `copy:`, because with `file:` apt reads the list in place: it would
 * trust one that was changed after the signature was checked.
 */
const ON_BOX = '/srv/courtd-apt';
const KEY = 'courtd.asc';

/**
 * Adds packages to the repository, or makes it; older versions stay in it.
 * @param debs with the .deb files.
 * @throws {Error} if the key cannot sign, or a tool of Debian fails.
 */
export function makeRepository(
  debs: readonly string[],
  { folder, key, origin }: RepositoryOptions,
): Repository {
  const inside = (name: string) => path.join(folder, name);
  fs.mkdirSync(folder, { recursive: true });
  for (const deb of debs) fs.copyFileSync(deb, inside(path.basename(deb)));
  // Release would list an older one, and an unsigned repository must not look signed.
  for (const name of ['InRelease', 'Release', KEY]) fs.rmSync(inside(name), { force: true });
  fs.writeFileSync(inside('Packages'), ftparchive(folder, 'packages'));
  const fields = { Origin: origin, Label: origin, Suite: 'stable', Architectures: 'amd64 arm64' };
  const options = Object.entries(fields).map(([name, value]) => `APT::FTPArchive::Release::${name}=${value}`);
  fs.writeFileSync(
    inside('Release'),
    ftparchive(folder, ...options.flatMap((option) => ['-o', option]), 'release'),
  );
  const fingerprint = key === undefined ? undefined : sign(folder, key);
  const settings = settingsOf(origin, fingerprint !== undefined);
  for (const [file, text] of Object.entries(settings)) fs.writeFileSync(inside(path.basename(file)), text);
  const names = Object.keys(settings).map((file) => path.basename(file));
  return { archive: pack(folder, names), fingerprint, settings };
}

function ftparchive(folder: string, ...args: readonly string[]): string {
  return execFileSync('apt-ftparchive', [...args, '.'], { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
}

/** Signs Release as InRelease, and writes the public key next to it. @returns the key's fingerprint. */
function sign(folder: string, key: string): string {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-gpg-'));
  const gpg = (args: readonly string[], stderr: 'pipe' | 'inherit' = 'pipe') =>
    execFileSync('gpg', ['--homedir', home, '--quiet', '--pinentry-mode', 'loopback', ...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['inherit', 'pipe', stderr],
    });
  try {
    gpg(['--batch', '--import', path.resolve(key)]);
    const listed = gpg(['--batch', '--with-colons', '--list-secret-keys']);
    const [fingerprint, ...others] = [...listed.matchAll(/^sec:[\s\S]*?^fpr:+(\w+):/gm)].map(
      ([, found]) => found!,
    );
    if (fingerprint === undefined || others.length > 0) throw new Error('it must hold one secret key');
    // Without a terminal gpg cannot ask for a passphrase.
    const batch = process.stdin.isTTY ? [] : ['--batch'];
    gpg(
      [...batch, '--local-user', fingerprint, '--output', 'InRelease', '--clearsign', 'Release'],
      'inherit',
    );
    fs.writeFileSync(path.join(folder, KEY), gpg(['--batch', '--armor', '--export', fingerprint]));
    return fingerprint;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string | null };
    const why = stderr === null ? 'For a passphrase gpg needs a terminal.' : stderr || message;
    throw new Error(`${key} cannot sign the repository: ${why.trim()}`);
  } finally {
    // gpg has started an agent.
    execFileSync('gpgconf', ['--homedir', home, '--kill', 'all']);
    fs.rmSync(home, { recursive: true, force: true });
  }
}

function settingsOf(origin: string, isSigned: boolean): Record<string, string> {
  const trust = isSigned
    ? `Signed-By: /etc/apt/keyrings/${KEY}`
    : '# It is not signed: anybody who can write to the repository can do anything on the box.\nTrusted: yes';
  return {
    '/etc/apt/sources.list.d/courtd.sources': `Types: deb
URIs: copy:${ON_BOX}
Suites: ./
${trust}
`,
    '/etc/apt/apt.conf.d/52courtd-upgrades': `// Every night. A courtd.env that was changed stays; without the last line
// it would keep a new version away.
APT::Periodic::Update-Package-Lists "1";
APT::Periodic::Unattended-Upgrade "1";
Unattended-Upgrade::Origins-Pattern { "origin=${origin},label=${origin}"; };
Dpkg::Options { "--force-confdef"; "--force-confold"; };
`,
  };
}

/** @returns the repository as one file next to its folder, without other files of that folder. */
function pack(folder: string, settings: readonly string[]): string {
  const file = `${path.resolve(folder)}.tar`;
  const own = ['InRelease', 'Release', 'Packages', KEY, ...settings];
  const names = fs.readdirSync(folder).filter((name) => own.includes(name) || name.endsWith('.deb'));
  const how = [
    '--owner=0',
    '--group=0',
    '--transform',
    `s,^,${path.basename(ON_BOX)}/,`,
    '--directory',
    folder,
  ];
  execFileSync('tar', ['--create', '--file', file, ...how, ...names], { stdio: 'pipe' });
  return file;
}
