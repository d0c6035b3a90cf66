import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Ajv } from 'ajv';
import type { Test } from 'tap';
import { run } from '../harness/daemon.ts';

/** CycloneDX's own. */
const SCHEMAS = path.resolve(
  createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json'),
  '../res/schema',
);
const PROGRAM = '/usr/lib/courtd';
const VERSIONS = `const Database = require('better-sqlite3');
const sqlite = new Database(':memory:').prepare('select sqlite_version()').pluck().get();
console.log(JSON.stringify({ node: process.versions.node, sqlite }));`;

interface Component {
  readonly name: string;
  readonly version: string;
  readonly 'bom-ref': string;
  readonly licenses: readonly object[];
  readonly hashes: readonly [{ readonly alg: string; readonly content: string }];
  readonly evidence: { readonly occurrences: readonly [{ readonly location: string }] };
  readonly properties: readonly [{ readonly value: string }];
}

/** Holds the SBOM of a package against what it installs. @param tree the package's files. */
export async function checkSbom(t: Test, tree: string): Promise<void> {
  const bom = JSON.parse(fs.readFileSync(path.join(tree, 'usr/share/doc/courtd/sbom.cdx.json'), 'utf8'));
  const components: readonly Component[] = bom.components;
  const own: Component = bom.metadata.component;
  const locationOf = ({ evidence }: Component) => evidence.occurrences[0].location;

  t.test('it is CycloneDX 1.6, by its schema: licences are those of SPDX', async (t) => {
    const schemaOf = (name: string) => JSON.parse(fs.readFileSync(path.join(SCHEMAS, name), 'utf8'));
    const ajv = new Ajv({ strict: false, validateFormats: false });
    for (const name of ['spdx', 'jsf-0.82'].map((name) => `${name}.SNAPSHOT.schema.json`))
      ajv.addSchema(schemaOf(name), `http://cyclonedx.org/schema/${name}`);
    const isValid = ajv.compile(schemaOf('bom-1.6.SNAPSHOT.schema.json'));
    t.ok(isValid(bom), ajv.errorsText(isValid.errors));
    for (const { name, version, licenses, hashes } of [own, ...components])
      t.ok(version && licenses.length === 1 && hashes.length === 1, name);
    const refs = [own, ...components].map((component) => component['bom-ref']);
    t.strictSame(
      bom.dependencies.map(({ ref }: { readonly ref: string }) => ref),
      refs,
    );
    const reached = new Set<string>(
      bom.dependencies.flatMap(({ dependsOn }: { dependsOn: string[] }) => dependsOn),
    );
    t.strictSame(
      [own['bom-ref'], ...reached].sort(),
      refs.sort(),
      'each is there because something needs it',
    );
  });

  t.test('every package in the tree is in it, and no more; every file belongs to a part', async (t) => {
    const root = path.join(tree, PROGRAM);
    const files = fs
      .readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join('/', path.relative(tree, path.join(entry.parentPath, entry.name))));
    // A package may have a package.json in other folders, too.
    const packages = files.flatMap(
      (file) => /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(file)?.[1] ?? [],
    );
    const locations = components.map(locationOf);
    const isFile = (location: string) => fs.statSync(path.join(tree, location)).isFile();
    t.strictSame(locations.filter((location) => !isFile(location)).sort(), packages.sort());
    const ofCourtd = ['bin/', 'src/', 'package.json'].map((name) => `${PROGRAM}/${name}`);
    const parts = [
      ...ofCourtd,
      ...locations.map((location) => (isFile(location) ? location : `${location}/`)),
    ];
    t.strictSame(
      files.filter((file) => !parts.some((part) => file.startsWith(part))),
      [],
    );
  });

  t.test('versions and hashes are those of the files', async (t) => {
    for (const component of components) {
      const file = path.join(tree, locationOf(component));
      if (fs.statSync(file).isDirectory()) {
        const { name, version } = JSON.parse(fs.readFileSync(path.join(file, 'package.json'), 'utf8'));
        t.match(component, { name, version });
      } else {
        const content = createHash('sha256').update(fs.readFileSync(file)).digest('hex');
        t.strictSame(component.hashes, [{ alg: 'SHA-256', content }], component.name);
      }
    }
    const list = own.properties[0].value.replace(PROGRAM, path.join(tree, PROGRAM));
    const { stdout: sum } = await run('sh', ['-c', `${list} | sha256sum`]);
    t.equal(sum, `${own.hashes[0].content}  -\n`);
    const program = path.join(tree, PROGRAM, 'node_modules/.bin/node');
    const env = { LD_LIBRARY_PATH: path.join(tree, PROGRAM, 'lib') };
    const { stdout } = await run(program, ['-e', VERSIONS], { cwd: path.join(tree, PROGRAM), env });
    const versionOf = (name: string) => components.find((component) => component.name === name)?.version;
    t.strictSame(JSON.parse(stdout), { node: versionOf('node'), sqlite: versionOf('sqlite') });
  });
}
