import fs from 'node:fs';
import path from 'node:path';

/**
 * A courtd that is newer than this checkout by one layout of the database and one version: for tests of upgrade and
 * rollback. `npx node test/harness/newerCourtd.ts FOLDER` makes it in a new folder.
 */

const ROOT = path.resolve(import.meta.dirname, '../..');
/** What a checkout needs to run and to be packaged. */
const PARTS = [
  'bin',
  'src',
  'scripts',
  'systemd',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'README.md',
  '.npmrc',
];
const MIGRATIONS = /const MIGRATIONS: readonly string\[\] = \[(.*?)\];/;
/** A change of the kind that a real one would be: of a large table, and of a small one. */
export const MIGRATION = `
  ALTER TABLE token ADD COLUMN note TEXT;
  CREATE INDEX event_newer ON event (session, seq);
`;

/**
 * @param folder is made; its node_modules is a link to the checkout's.
 * @returns its version, such as "0.1.1".
 */
export function makeNewer(folder: string): string {
  fs.mkdirSync(folder, { recursive: true });
  for (const part of PARTS) {
    const from = path.join(ROOT, part);
    if (fs.existsSync(from)) fs.cpSync(from, path.join(folder, part), { recursive: true });
  }
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  const schema = path.join(folder, 'src/store/db/schema.ts');
  const text = fs.readFileSync(schema, 'utf8');
  if (!MIGRATIONS.test(text)) throw new Error(`${schema} has no list of migrations that could be added to`);
  const longer = `const MIGRATIONS: readonly string[] = [$1, ${JSON.stringify(MIGRATION)}];`;
  fs.writeFileSync(schema, text.replace(MIGRATIONS, longer));
  return raiseVersion(folder);
}

function raiseVersion(folder: string): string {
  const file = path.join(folder, 'package.json');
  const manifest = JSON.parse(fs.readFileSync(file, 'utf8'));
  const parts = String(manifest.version).split('.').map(Number);
  manifest.version = [...parts.slice(0, -1), (parts.at(-1) ?? 0) + 1].join('.');
  fs.writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest.version;
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) {
    process.stderr.write('npx node test/harness/newerCourtd.ts FOLDER\n');
    process.exit(2);
  }
  process.stdout.write(`${makeNewer(folder)}\n`);
}
