import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Command, Option } from 'commander';
import { ARCHITECTURES, type Architecture } from './package/architecture.ts';
import { makeDeb } from './package/deb.ts';
import { checkDeb } from './package/lint.ts';
import { missingNeeds } from './package/needs.ts';
import { type Release, ROOT, releaseOf } from './package/release.ts';
import { stage } from './package/stage.ts';

/**
 * `npm run package`: dist/courtd_VERSION_amd64.deb and _arm64.deb, on either kind of machine. The same commit gives the
 * same bytes, on a Debian of the same release. `-- --arch amd64` builds one; `--quick` compresses it in a second and
 * skips lintian; `--version 0.2.0` or `--version-suffix +next` builds another version; `--to DIR` sets the directory.
 */

interface Options {
  readonly arch: readonly Architecture['debian'][];
  readonly quick: boolean;
  readonly version?: string;
  readonly versionSuffix?: string;
  readonly to: string;
}

const BOTH = ARCHITECTURES.map(({ debian }) => debian);
const { arch, quick, version, versionSuffix, to } = new Command('npm run package --')
  .description('builds the Debian packages')
  .addOption(new Option('--arch <name...>', 'only these architectures').choices(BOTH).default(BOTH))
  .option('--quick', 'compress fast, and skip lintian', false)
  .option('--version <version>', 'instead of the version in package.json')
  .option('--version-suffix <suffix>', 'a suffix of the version, such as +next')
  .option('--to <directory>', 'the directory for the packages', path.join(ROOT, 'dist'))
  .parse()
  .opts<Options>();

try {
  const architectures = ARCHITECTURES.filter(({ debian }) => arch.includes(debian));
  const missing = missingNeeds(architectures, !quick);
  if (missing !== undefined) throw new Error(missing);
  const release = releaseOf({ version, suffix: versionSuffix });
  // File modes are part of the package.
  process.umask(0o022);
  for (const architecture of architectures) build(architecture, release);
} catch (error) {
  console.error(`package: ${(error as Error).message}`);
  process.exitCode = 1;
}

function build(architecture: Architecture, release: Release): void {
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
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}
