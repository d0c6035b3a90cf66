import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ARCHITECTURES, type Architecture } from './package/architecture.ts';
import { makeDeb } from './package/deb.ts';
import { checkDeb } from './package/lint.ts';
import { missingNeeds } from './package/needs.ts';
import { type Release, ROOT, releaseOf } from './package/release.ts';
import { stage } from './package/stage.ts';

/**
 * `npm run package`: dist/courtd_VERSION_amd64.deb and _arm64.deb, on either kind of machine. The same commit gives the
 * same bytes, on a Debian of the same release. `-- --arch amd64` builds one; `--quick` compresses it in a second and
 * leaves out lintian; `--version 0.2.0` or `--version-suffix +next` builds another version; `--to DIR` puts it elsewhere.
 */

const { values } = parseArgs({
  options: {
    arch: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    version: { type: 'string' },
    'version-suffix': { type: 'string' },
    to: { type: 'string', default: path.join(ROOT, 'dist') },
  },
});

try {
  const release = releaseOf({ version: values.version, suffix: values['version-suffix'] });
  const architectures = chosen(values.arch);
  const lacks = missingNeeds(architectures, !values.quick);
  if (lacks !== undefined) throw new Error(lacks);
  // Modes are part of the bytes.
  process.umask(0o022);
  for (const architecture of architectures) build(architecture, release);
} catch (error) {
  console.error(`package: ${(error as Error).message}`);
  process.exitCode = 1;
}

function chosen(names: readonly string[] = ARCHITECTURES.map(({ debian }) => debian)): Architecture[] {
  return names.map((name) => {
    const found = ARCHITECTURES.find(({ debian }) => debian === name);
    if (found === undefined) throw new Error(`There is no package for ${name}: choose amd64 or arm64.`);
    return found;
  });
}

function build(architecture: Architecture, release: Release): void {
  const startedAt = performance.now();
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'courtd-package-'));
  try {
    const source = path.join(work, 'source');
    stage(path.join(source, 'stage'), path.join(work, 'npm'), architecture, release);
    const destination = path.resolve(values.to);
    const file = makeDeb(source, architecture, release, { destination, isQuick: values.quick });
    if (!values.quick) checkDeb(file);
    const megabytes = (fs.statSync(file).size / 1e6).toFixed(1);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    console.log(`${file}: ${megabytes} MB, built in ${seconds} s`);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}
