import fs from 'node:fs';
import path from 'node:path';
import t from 'tap';

const ROOT = path.resolve(import.meta.dirname, '..');

/** The floors of the house (design 6); what is not in a folder is on the top floor. */
const FLOORS: Readonly<Record<string, number>> = { cli: 3, http: 2, host: 2, store: 1, protocol: 0 };
const TOP_FLOOR = 4;
const LINES_MAX = 400;
const SQL_FOLDER = 'store';
const SQL_LIBRARY = 'better-sqlite3';

const files = fs
  .readdirSync(path.join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'));

interface Import {
  /** As written. */
  readonly from: string;
  readonly isTypeOnly: boolean;
}

/** Every import and re-export of a file, and every import() in it, also in a type. */
function importsOf(file: string): Import[] {
  const text = fs.readFileSync(path.join(ROOT, 'src', file), 'utf8');
  const clauses = text.matchAll(/^(?:import|export)\s(?:(type)\s)?(?:([^;'"]*?)\sfrom\s)?'([^']+)'/gm);
  const calls = text.matchAll(/\b(?:import|require)\(\s*['"]([^'"]+)['"]\s*\)/g);
  return [
    ...clauses.map(([, type, , from]) => ({ from: from!, isTypeOnly: type !== undefined })),
    ...calls.map(([, from]) => ({ from: from!, isTypeOnly: false })),
  ];
}

/** The folder of src/ that a file is in; undefined for src/main.ts and its like. */
function folderOf(file: string): string | undefined {
  const folder = path.dirname(file);
  return folder === '.' ? undefined : folder;
}

function floorOf(folder: string | undefined): number | undefined {
  return folder === undefined ? TOP_FLOOR : FLOORS[folder];
}

t.test('every folder of src/ has its floor, and no folder is missing', (t) => {
  const folders = new Set(files.map(folderOf).filter((folder) => folder !== undefined));
  t.strictSame([...folders].sort(), Object.keys(FLOORS).sort());
  t.strictSame(files.filter((file) => folderOf(file) === undefined).sort(), ['main.ts', 'program.ts']);
  t.end();
});

t.test('imports point down: never up, and never to a sibling folder on the same floor', (t) => {
  let seen = 0;
  for (const file of files) {
    for (const { from } of importsOf(file).filter(({ from }) => from.startsWith('.'))) {
      seen++;
      const target = path.join(path.dirname(file), from);
      t.ok(files.includes(target), `${file} imports ${from}, which is there and in src/`);
      const [own, other] = [folderOf(file), folderOf(target)];
      if (own === other) continue;
      t.ok(floorOf(own)! > floorOf(other)!, `${file} may see ${target}`);
    }
  }
  t.ok(seen > files.length, `${seen} imports were looked at`);
  t.end();
});

t.test('only src/store knows SQLite: others import its types at the most', (t) => {
  const importers = files.filter((file) =>
    importsOf(file).some(({ from, isTypeOnly }) => from === SQL_LIBRARY && !isTypeOnly),
  );
  t.ok(importers.length > 0);
  for (const file of importers) t.equal(folderOf(file), SQL_FOLDER, file);
  const sqlites = files.flatMap(importsOf).filter(({ from }) => /sqlite/.test(from) && !from.startsWith('.'));
  t.strictSame([...new Set(sqlites.map(({ from }) => from))], [SQL_LIBRARY]);
  t.end();
});

t.test(`no file of src/ passes ${LINES_MAX} lines`, (t) => {
  for (const file of files) {
    const lines = fs.readFileSync(path.join(ROOT, 'src', file), 'utf8').split('\n').length - 1;
    t.ok(lines <= LINES_MAX, `${file} has ${lines}`);
  }
  t.end();
});
