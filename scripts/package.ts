import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Command, Option } from 'commander';
import { ARCHITECTURES, type Architecture } from './package/architecture.ts';
import { makeDeb } from './package/deb.ts';
import { checkDeb } from './package/lint.ts';
import { FOR_CHECK, FOR_REPOSITORY, missingNeeds } from './package/needs.ts';
import { type Release, ROOT, releaseOf } from './package/release.ts';
import { makeRepository, type Repository } from './package/repository.ts';
import { stage } from './package/stage.ts';

/**
 * `npm run package`: dist/courtd_VERSION_amd64.deb and _arm64.deb, on either kind of machine. The same commit gives the
 * same bytes, on a Debian of the same release. `-- --arch amd64` builds one; `--quick` compresses it in a second and
 * skips lintian; `--version 0.2.0` or `--version-suffix +next` builds another version; `--to DIR` sets the directory.
 * `--maintainer` and `--support` name who answers for it; `--repo DIR` makes an apt repository: systemd/INTEGRATOR.md.
 */

interface Options {
  readonly arch: readonly Architecture['debian'][];
  readonly quick: boolean;
  readonly version?: string;
  readonly versionSuffix?: string;
  readonly to: string;
  readonly maintainer?: string;
  readonly support?: string;
  readonly repo?: string;
  readonly key?: string;
  readonly origin: string;
}

const BOTH = ARCHITECTURES.map(({ debian }) => debian);
const { arch, quick, version, versionSuffix, to, maintainer, support, repo, key, origin } = new Command(
  'npm run package --',
)
  .description('builds the Debian packages')
  .addOption(new Option('--arch <name...>', 'only these architectures').choices(BOTH).default(BOTH))
  .option('--quick', 'compress fast, and skip lintian', false)
  .option('--version <version>', 'instead of the version in package.json')
  .option('--version-suffix <suffix>', 'a suffix of the version, such as +next')
  .option('--to <directory>', 'the directory for the packages', path.join(ROOT, 'dist'))
  .option('--maintainer <name>', "who answers for the package: 'Name <address>'")
  .option('--support <url>', 'the page for help and updates')
  .option('--repo <directory>', 'adds the packages to an apt repository, and makes one archive of it')
  .option('--key <file>', 'the secret key that signs the repository')
  .option('--origin <name>', 'the name of the repository', 'courtd')
  .parse()
  .opts<Options>();

try {
  const architectures = ARCHITECTURES.filter(({ debian }) => arch.includes(debian));
  const more = { ...(quick ? {} : FOR_CHECK), ...(repo === undefined ? {} : FOR_REPOSITORY) };
  const missing = missingNeeds(architectures, more);
  if (missing !== undefined) throw new Error(missing);
  if (key !== undefined && repo === undefined) throw new Error('--key signs a repository: give --repo, too.');
  if (key !== undefined && !fs.existsSync(key)) throw new Error(`There is no key ${key}.`);
  if (!/^[\w .-]+$/.test(origin))
    throw new Error(`"${origin}" cannot name a repository. Use letters and digits.`);
  const release = releaseOf({ version, suffix: versionSuffix, maintainer, support });
  // File modes are part of the package.
  process.umask(0o022);
  const debs = architectures.map((architecture) => build(architecture, release));
  if (maintainer === undefined)
    console.error("The package names no maintainer. Give one with --maintainer 'Name <address>'.");
  if (repo !== undefined) tellOf(makeRepository(debs, { folder: repo, key, origin }));
} catch (error) {
  console.error(`package: ${(error as Error).message}`);
  process.exitCode = 1;
}

function build(architecture: Architecture, release: Release): string {
  const startedAt = performance.now();
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-package-'));
  try {
    const source = path.join(work, 'source');
    stage(path.join(source, 'stage'), path.join(work, 'npm'), architecture, release);
    const destination = path.resolve(to);
    const file = makeDeb(source, architecture, release, { destination, isQuick: quick });
    if (!quick) checkDeb(file);
    const megabytes = (fs.statSync(file).size / 1e6).toFixed(1);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    console.log(`${file}: ${megabytes} MB, built in ${seconds} s`);
    return file;
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

function tellOf({ archive, fingerprint, settings }: Repository): void {
  console.log(`${archive}: the repository in one file, for a stick`);
  for (const [file, text] of Object.entries(settings))
    console.log(`\n${file}:\n${text.replaceAll(/^/gm, '  ').trimEnd()}`);
  if (fingerprint === undefined)
    console.error(
      '\nThe repository is not signed: a box cannot tell your packages from others. --key FILE signs it.',
    );
  else console.log(`\nSigned with ${fingerprint}: give it to the people who install boxes.`);
}
