import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Architecture } from './architecture.ts';
import { foldersIn } from './modules.ts';
import { fieldOf } from './needs.ts';
import { type Release, ROOT } from './release.ts';

/**
 * /usr/share/doc/courtd/sbom.cdx.json: what the package installs, as CycloneDX 1.6. `npm sbom` writes 1.5, with a random
 * serial number and the time of day, and knows neither Node nor SQLite.
 */

const PROGRAM = 'usr/lib/courtd';
/** What courtd's own hash is of: files do not contain their own. */
const OWN_FILES = `cd /${PROGRAM} && find bin src package.json -type f | LC_ALL=C sort | xargs sha256sum`;

/** A component of CycloneDX, as far as it matters here. */
interface Component {
  /** Its package URL. */
  readonly 'bom-ref': string;
  readonly name: string;
  readonly [more: string]: unknown;
}

interface Part {
  readonly component: Component;
  /** The references of what it loads or contains. */
  readonly needs: readonly string[];
}

/**
 * @param stage the files of the package, as they will be installed: hashes of files are of those bytes.
 * @returns the same text for the same files.
 * @throws {Error} if a licence, a hash or SQLite's version cannot be found.
 */
export function sbomOf(stage: string, architecture: Architecture, release: Release): string {
  const root = path.join(stage, PROGRAM);
  const [atomic, node, sqlite] = programsIn(root, architecture);
  const contained: Readonly<Record<string, Component>> = {
    [`node-linux-${architecture.node}`]: node,
    'better-sqlite3': sqlite,
  };
  const packages = foldersIn(path.join(root, 'node_modules')).map((folder): Part => {
    const { component, needs } = npmPart(root, folder);
    const inside = contained[component.name];
    return { component, needs: inside === undefined ? needs : [...needs, inside['bom-ref']] };
  });
  const own = ownPart(root, architecture, release);
  const parts = [
    ...packages,
    { component: sqlite, needs: [] },
    { component: node, needs: [atomic['bom-ref']] },
    { component: atomic, needs: [] },
  ];
  const bom = {
    version: 1,
    metadata: {
      timestamp: new Date(release.time * 1000).toISOString(),
      lifecycles: [{ phase: 'build' }],
      component: own.component,
      ...supplierOf(release),
    },
    components: parts.map(({ component }) => component),
    dependencies: [own, ...parts].map(({ component, needs }) => ({
      ref: component['bom-ref'],
      dependsOn: needs,
    })),
  };
  const head = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(bom))}`,
  };
  return `${JSON.stringify({ ...head, ...bom }, null, 1)}\n`;
}

function ownPart(root: string, { debian, node }: Architecture, { version }: Release): Part {
  const { license, description, dependencies } = manifestIn(ROOT);
  const files = ['bin', 'src', 'package.json'].flatMap((name) => filesIn(root, name)).sort();
  const sums = files.map((file) => `${digest('sha256', fs.readFileSync(path.join(root, file)))}  ${file}\n`);
  const component = {
    type: 'application',
    ...identity('courtd', version, `pkg:generic/courtd@${version}?arch=${debian}`),
    description,
    licenses: licensesOf(license),
    hashes: [{ alg: 'SHA-256', content: digest('sha256', sums.join('')) }],
    properties: [{ name: 'courtd:hash-of', value: OWN_FILES }],
  };
  return { component, needs: refsOf([...Object.keys(dependencies), `node-linux-${node}`], root, root) };
}

/** An npm package; its hash is that of what npm fetched, which the lock file has. */
function npmPart(root: string, folder: string): Part {
  const { name, version, license, author, dependencies = {} } = manifestIn(folder);
  const { packages } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'));
  const [, base64] = /^sha512-(\S+)$/.exec(packages[path.relative(root, folder)]?.integrity) ?? [];
  if (base64 === undefined || !license)
    throw new Error(`${name} has no licence in its package.json, or no SHA-512 in the lock file.`);
  const writer = (typeof author === 'string' ? author : author?.name)?.replace(/ *[<(].*/, '');
  const component = {
    type: 'library',
    ...identity(name, version, refOf(folder)),
    ...(writer ? { authors: [{ name: writer }] } : {}),
    licenses: licensesOf(license),
    hashes: [{ alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') }],
    evidence: evidenceOf(path.relative(root, folder)),
  };
  return { component, needs: refsOf(Object.keys(dependencies), folder, root) };
}

/** What is no npm package; each is one file, of which its hash is. */
function programsIn(root: string, { node, libatomic }: Architecture): [Component, Component, Component] {
  const ofFile = (file: string, licence: string, known: { readonly [property: string]: string }) => ({
    ...(known as unknown as Component),
    licenses: licensesOf(licence),
    hashes: [{ alg: 'SHA-256', content: digest('sha256', fs.readFileSync(path.join(root, file))) }],
    evidence: evidenceOf(file),
  });
  const gcc = fieldOf(libatomic.debian, 'Version');
  const nodePackage = `node_modules/node-linux-${node}`;
  const { version, license } = manifestIn(path.join(root, nodePackage));
  const binding = `node_modules/better-sqlite3/prebuilds/linux-${node}.node`;
  const sqlite = sqliteIn(path.join(root, binding));
  return [
    ofFile('lib/libatomic.so.1', 'GPL-3.0-or-later WITH GCC-exception-3.1', {
      type: 'library',
      ...identity('libatomic1', gcc, `pkg:deb/debian/${libatomic.debian}@${encodeURIComponent(gcc)}`),
    }),
    ofFile(`${nodePackage}/bin/node`, license, {
      type: 'platform',
      ...identity('node', version, `pkg:generic/node@${version}`),
      cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    }),
    ofFile(binding, 'blessing', {
      type: 'library',
      ...identity('sqlite', sqlite, `pkg:generic/sqlite@${sqlite}`),
      cpe: `cpe:2.3:a:sqlite:sqlite:${sqlite}:*:*:*:*:*:*:*`,
    }),
  ];
}

/** @returns the version of SQLite that a program contains. */
function sqliteIn(program: string): string {
  const texts = fs.readFileSync(program, 'latin1').matchAll(/(?<![\w.])(3\.\d+\.\d+)\0/g);
  const [version, ...others] = new Set([...texts].map(([, text]) => text!));
  if (version === undefined || others.length > 0)
    throw new Error(`Which SQLite is in ${program}? Found: ${[version, ...others].join(' ')}`);
  return version;
}

/** @returns who answers for the package, where the integrator has said so. */
function supplierOf({ maintainer, support }: Release) {
  const [, name, email] = /^(.*) <(.*)>$/.exec(maintainer ?? '') ?? [];
  if (name === undefined) return {};
  return { supplier: { name, ...(support === undefined ? {} : { url: [support] }), contact: [{ email }] } };
}

function identity(name: string, version: string, purl: string) {
  return { 'bom-ref': purl, name, version, purl };
}

/** @param license as package.json has it: an SPDX identifier, or an expression of several. */
function licensesOf(license: string): readonly object[] {
  return /^[\w.+-]+$/.test(license) ? [{ license: { id: license } }] : [{ expression: license }];
}

/** @param file in courtd's folder. */
function evidenceOf(file: string) {
  return { occurrences: [{ location: `/${PROGRAM}/${file}` }] };
}

/** @returns the references of the packages that one in `folder` loads by these names, as Node finds them. */
function refsOf(names: readonly string[], folder: string, root: string): string[] {
  return names.flatMap((name) => {
    for (let at = folder; at.length >= root.length; at = path.dirname(at)) {
      const found = path.join(at, 'node_modules', name);
      if (fs.existsSync(found)) return [refOf(found)];
    }
    // What is for compiling is left out.
    return [];
  });
}

/** @returns the package URL of an npm package. */
function refOf(folder: string): string {
  const { name, version } = manifestIn(folder);
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function manifestIn(folder: string) {
  return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
}

/** @returns a file, or all files of a folder, by their paths from `root`. */
function filesIn(root: string, name: string): string[] {
  if (fs.statSync(path.join(root, name)).isFile()) return [name];
  return fs.readdirSync(path.join(root, name)).flatMap((inner) => filesIn(root, path.join(name, inner)));
}

function digest(algorithm: string, content: string | Buffer): string {
  return createHash(algorithm).update(content).digest('hex');
}

/** A UUID of version 8 (RFC 9562), made of what it names: the same files have the same. */
function uuidOf(content: string): string {
  const hex = digest('sha256', content);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
